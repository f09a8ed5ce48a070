import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

interface Facts {
  url: string
  port: number
  pid: number
}

async function worldWith(script: string) {
  const world = await createWorld()
  const file = path.join(world.home, 'script.yaml')
  writeFileSync(file, script)
  return { ...world, file }
}

async function ask(url: string): Promise<{ status: number; text: string }> {
  const body = JSON.stringify({ model: 'any', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] })
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', body })
  return { status: response.status, text: await response.text() }
}

describe('chirality scripted-model', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('serves the script until %s', async signal => {
    const { start, file } = await worldWith('answers:\n  - From the script.\n')
    const command = start(['scripted-model', '--script', file, '--json'])
    await command.shows('\n')
    const [facts] = jsonLines<Facts>(command.stdout)
    expect(facts).toEqual({
      url: `http://127.0.0.1:${facts?.port}`,
      port: expect.any(Number),
      pid: command.pid,
    })
    const answer = await ask(facts?.url ?? '')
    expect(answer.status).toBe(200)
    expect(answer.text).toContain('From the script.')

    command.signal(signal)
    const { code, stdout, stderr } = await command.result()
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(jsonLines(stdout)).toHaveLength(1)
    await expect(ask(facts?.url ?? '')).rejects.toThrow()
  })

  test('ends while an answer is stalled', async () => {
    const { start, file } = await worldWith('answers:\n  - { text: Never., stallAfter: nothing }\n')
    const command = start(['scripted-model', '--script', file, '--json'])
    await command.shows('\n')
    const [facts] = jsonLines<Facts>(command.stdout)
    const unanswered = expect(ask(facts?.url ?? '')).rejects.toThrow()
    command.signal('SIGTERM')
    await unanswered
    expect(await command.result()).toMatchObject({ code: 0 })
  })

  test('tells people how to point an agent at it', async () => {
    const { start, file } = await worldWith('otherwise: ok\n')
    const command = start(['scripted-model', '--script', file])
    await command.shows('Ctrl-C ends it.')
    command.signal('SIGINT')
    const { stdout } = await command.result()
    expect(stdout).toMatch(
      /Claude Code: ANTHROPIC_BASE_URL=http:\/\/127\.0\.0\.1:\d+ ANTHROPIC_API_KEY=any\n/,
    )
  })

  test('serves an agent that chirality itself runs', async () => {
    const { start, run, file } = await worldWith('otherwise: Straight from the script.\n')
    const command = start(['scripted-model', '--script', file, '--json'])
    await command.shows('\n')
    const [facts] = jsonLines<Facts>(command.stdout)
    const running = start(['run', 'Hi'], { env: { ANTHROPIC_BASE_URL: facts?.url } })
    const { code, stdout } = await running.result()
    expect(code).toBe(0)
    expect(stdout).toContain('Straight from the script.\n')
    command.signal('SIGTERM')
    await command.result()
    expect((await run(['--version'])).code).toBe(0)
  })

  test('a wrong script is refused with line and path', async () => {
    const { run, file } = await worldWith('answers:\n  - { text: Hi, stop_reason: end_turn }\n')
    const { code, stdout, stderr } = await run(['scripted-model', '--script', file, '--json'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`chirality: ${file}:2:`)
    expect(stderr).toContain('answers[0].stop_reason')
    expect(stderr).toContain('stopReason')
  })

  test('a port in use is refused with what to do', async () => {
    const { run, file, model } = await worldWith('otherwise: ok\n')
    const { code, stdout, stderr } = await run([
      'scripted-model',
      '--script',
      file,
      '--port',
      String(model.port),
    ])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(
      `Port ${model.port} is in use. Choose another, or leave --port out for any free one.`,
    )
  })

  test.each([
    [[], '--script FILE is needed: the answers that the model gives.'],
    [['--script', '/no/script.yaml'], 'The script /no/script.yaml does not exist.'],
    [['--script', '/'], 'The script / is a folder. Name a JSON or YAML file.'],
    [['x.yaml'], 'Unexpected argument "x.yaml". The script is named with --script.'],
    [['--script', 'x', '--port', '65536'], '--port must be a whole number from 0 to 65535, not "65536".'],
  ])('refuses %j', async (args, message) => {
    const { run } = await createWorld()
    const stderr = `chirality: ${message}\nSee \`chirality --help\`.\n`
    expect(await run(['scripted-model', ...args])).toEqual({ code: 2, signal: null, stdout: '', stderr })
  })
})
