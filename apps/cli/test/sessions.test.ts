import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { NativeSession } from '@chirality/core'
import { initialSessionState, reduceSession } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

async function worldWithBoth() {
  const world = await createWorld({ answers: ['Noted: 42.', 'Noted: 43.', 'It is known.'] })
  const ask = async (...args: string[]) => UUID.exec((await world.run(['run', ...args])).stdout)?.[0] ?? ''
  return { ...world, claude: await ask('Remember 42'), codex: await ask('Remember 43', '--harness', 'codex') }
}

describe('chirality sessions', () => {
  test.each([[['list', '--native']], [['import']]])(
    '%j lists the conversations of all agents, newest first',
    async args => {
      const { run, project, claude, codex } = await worldWithBoth()
      const { code, stdout, stderr } = await run(['sessions', ...args, '--json'])
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(jsonLines<NativeSession>(stdout)).toMatchObject([
        { harness: 'codex', nativeSessionId: codex, cwd: project, title: 'Remember 43' },
        { harness: 'claude-code', nativeSessionId: claude, cwd: project, title: 'Remember 42' },
      ])
      const text = await run(['sessions', ...args, '--harness', 'claude-code'])
      expect(text.stdout).toMatch(
        new RegExp(`^${claude}  claude-code \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d  Remember 42\n$`),
      )
    },
  )

  test('a folder without conversations has none', async () => {
    const { run, home } = await createWorld()
    const empty = path.join(home, 'empty')
    mkdirSync(empty)
    const { code, stdout, stderr } = await run(['sessions', 'import', '--project', empty])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toBe(`chirality: No agent has a conversation in ${empty}.\n`)
  })

  test.each([
    ['claude-code', '42', ''],
    ['codex', '43', ' --harness codex'],
  ] as const)(
    'import shows a conversation of %s and how to go on, which works',
    async (harness, number, option) => {
      const { run, model, ...ids } = await worldWithBoth()
      const id = harness === 'codex' ? ids.codex : ids.claude
      const { code, stdout, stderr } = await run(['sessions', 'import', id])

      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const command = `chirality run --session ${id}${option}`
      expect(stdout.split('\n')).toEqual([
        '',
        `> Remember ${number}`,
        expect.stringContaining(`session ${id}`),
        `Noted: ${number}.`,
        '',
        `Continue with: ${command} "…"`,
        '',
      ])
      const [, ...words] = command.split(' ')
      expect(await run([...words, 'Go on'])).toMatchObject({ code: 0 })
      const conversation = JSON.stringify(model.requests.at(-1)?.body)
      expect(conversation).toContain(`Remember ${number}`)
      expect(conversation).toContain(`Noted: ${number}.`)
    },
  )

  test('import --json prints envelopes that fold into the session', async () => {
    const { run, codex } = await worldWithBoth()
    const { code, stdout, stderr } = await run(['sessions', 'import', codex, '--json', '--harness', 'codex'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const envelopes = jsonLines(stdout)
    const state = reduceSession(initialSessionState(envelopes[0]?.sessionId ?? ''), envelopes)
    expect(state).toMatchObject({ phase: 'idle', agent: { harness: 'codex', nativeSessionId: codex } })
    expect(state.items).toMatchObject([
      { kind: 'user', text: 'Remember 43' },
      { kind: 'text', text: 'Noted: 43.' },
    ])
  })

  test('import finds a conversation of another folder and names the folder', async () => {
    const { run, project, claude } = await worldWithBoth()
    const { stdout } = await run(['sessions', 'import', claude], { cwd: '/' })
    expect(stdout).toContain(`Continue with: chirality run --session ${claude} --project ${project} "…"\n`)
  })

  test('an id that no agent has ends with 1', async () => {
    const { run } = await createWorld()
    const id = randomUUID()
    expect(await run(['sessions', 'import', id])).toEqual({
      code: 1,
      signal: null,
      stdout: '',
      stderr: `chirality: There is no conversation ${id} of claude-code or codex. See \`chirality sessions import\`.\n`,
    })
    const one = await run(['sessions', 'import', id, '--harness', 'codex'])
    expect(one.stderr).toContain(`There is no conversation ${id} of codex.`)
  })

  test.each([
    [[], 'Say what to do: sessions list --native, or sessions import [ID].'],
    [['show'], 'sessions knows list and import, not "show".'],
    [['list'], 'sessions list needs --native: this version keeps no list of its own.'],
    [['list', '--native', 'x'], 'sessions list takes no id. Read one with: sessions import x'],
    [['import', 'a', 'b'], 'Unexpected argument "b".'],
    [['import', '--harness', 'x'], '--harness must be one of claude-code, codex, not "x".'],
    [
      ['import', '--project', '/no/folder'],
      'The project folder /no/folder does not exist. Name an existing one with --project.',
    ],
  ])('refuses %j', async (args, message) => {
    const { run } = await createWorld()
    const stderr = `chirality: ${message}\nSee \`chirality --help\`.\n`
    expect(await run(['sessions', ...args])).toEqual({ code: 2, signal: null, stdout: '', stderr })
  })

  test('what is no id ends with 2', async () => {
    const { run } = await createWorld()
    const { code, stderr } = await run(['sessions', 'import', '../x'])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'chirality: "../x" is not the id of a conversation (a UUID).\n',
    })
  })
})
