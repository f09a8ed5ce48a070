import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { TRANSLATABLE_HARNESSES, type UIEvent } from '@chirality/core'
import { fixtureCases, type GoldenEvent, readGolden, readStdout, shortenTexts } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

const ANSWER = `${JSON.stringify({ type: 'assistant', message: { id: 'm', content: [{ type: 'text', text: 'Hi.' }] } })}\n`

describe('chirality translate', () => {
  const CLAUDE = ['claude-code 2.1.197', 'claude-code 2.1.325']
  const CODEX = ['codex 0.166.0 exec', 'codex 0.166.0 app-server']

  test.each([
    ['plain-text', [...CLAUDE, ...CODEX]],
    ['tools', CLAUDE],
    ['sub-agent', CLAUDE],
    ['file-change', CODEX],
    ['approval-accept', CODEX.slice(1)],
    ['huge-line', [...CLAUDE, ...CODEX]],
  ])('gives the golden events of %s', async (name, captured) => {
    const fixtures = fixtureCases().filter(fixture => fixture.name === name)
    const agents = fixtures.map(({ harness, version, voice }) => [harness, version, voice].join(' ').trim())
    expect(agents).toEqual(captured)
    for (const fixture of fixtures) {
      const { run, home } = await createWorld()
      const file = path.join(home, 'stdout.ndjson')
      writeFileSync(file, readStdout(fixture))
      const { code, stdout, stderr } = await run(['translate', '--harness', fixture.harness, file])

      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const events = shortenTexts(jsonLines<UIEvent>(stdout))
      expect(events).toEqual(readGolden(fixture).map(inSession('translate')))
    }
  })

  test.each([
    ['for nothing', ['translate']],
    ['for "-"', ['translate', '-']],
  ])('reads stdin %s', async (_what, args) => {
    const { run } = await createWorld()
    const { code, stdout } = await run(args, { input: ANSWER })
    expect(code).toBe(0)
    expect(jsonLines<UIEvent>(stdout)).toMatchObject([{ type: 'chat:message', text: 'Hi.' }])
  })

  test('empty input prints nothing', async () => {
    const { run } = await createWorld()
    expect(await run(['translate'])).toEqual({ code: 0, signal: null, stdout: '', stderr: '' })
  })

  test('a line that is not JSON becomes an event, and reading goes on', async () => {
    const { run } = await createWorld()
    const { code, stdout } = await run(['translate'], { input: `garbage\n${ANSWER}{"half":` })
    expect(code).toBe(0)
    expect(jsonLines<UIEvent>(stdout)).toMatchObject([
      { type: 'native:unknown', nativeType: 'malformed' },
      { type: 'chat:message', text: 'Hi.' },
      { type: 'native:unknown', nativeType: 'malformed' },
    ])
  })

  test('a line over 64 MiB becomes an event with its size, and reading goes on', async () => {
    const { run, home } = await createWorld()
    const file = path.join(home, 'huge.ndjson')
    const bytes = 65 * 1024 * 1024
    writeFileSync(file, Buffer.concat([Buffer.alloc(bytes, 'x'), Buffer.from(`\n${ANSWER}`)]))
    const { code, stdout } = await run(['translate', file])
    expect(code).toBe(0)
    expect(jsonLines<UIEvent>(stdout)).toMatchObject([
      { type: 'native:unknown', nativeType: 'oversize', raw: { bytes } },
      { type: 'chat:message', text: 'Hi.' },
    ])
  })

  test('stops without a word when the reader leaves', async () => {
    const { start, home } = await createWorld()
    const file = path.join(home, 'long.ndjson')
    writeFileSync(file, ANSWER.repeat(100_000))
    const command = start(['translate', file])
    await command.shows('chat:message')
    command.closeStdout()
    expect(await command.result()).toMatchObject({ code: 0, stderr: '' })
  })

  test.each([
    [['/no/such/file'], '/no/such/file does not exist.'],
    [['/'], '/ is a folder; name a file in it.'],
    [['a', 'b'], 'One file is expected, 2 were given.'],
    [['--harness', 'x'], `--harness must be one of ${TRANSLATABLE_HARNESSES.join(', ')}, not "x".`],
  ])('refuses %j', async (args, message) => {
    const { run } = await createWorld()
    const stderr = `chirality: ${message}\nSee \`chirality --help\`.\n`
    expect(await run(['translate', ...args])).toEqual({ code: 2, signal: null, stdout: '', stderr })
  })
})

function inSession(sessionId: string): (event: GoldenEvent) => GoldenEvent {
  return event => ({ ...event, sessionId })
}
