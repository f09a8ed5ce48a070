import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { codexBinary } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { createWorld, type World } from './support/world.ts'

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/
const CODEX = ['--harness', 'codex']

function conversation({ model }: World): string {
  return JSON.stringify(model.requests.at(-1)?.body)
}

describe('chirality run --harness codex', () => {
  test('shows the answer, the tools and the tokens, and leaves nothing running', async () => {
    const world = await createWorld({
      answers: [{ text: 'I look.', tool: 'exec_command', input: { cmd: 'echo hi' } }, 'It says hi.'],
    })
    const { code, stdout, stderr } = await world.run(['run', 'What does it say?', ...CODEX])

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    // What Codex thinks of this machine is a notice.
    expect(stdout.split('\n').filter(line => !line.startsWith('· '))).toEqual([
      expect.stringMatching(new RegExp(`^gpt-5.5 · Codex 0.166.0 · session ${UUID.source}$`)),
      'I look.',
      expect.stringMatching(/^▸ command .*echo hi/),
      '  ✓ hi',
      'It says hi.',
      expect.stringMatching(/^≈ \$[\d.]+ · 200 in · 40 out · (\d+\.\d s|\d+ ms)$/),
      '',
    ])
    expect(world.spools('codex')).toHaveLength(1)
  })

  test('--json prints envelopes, the last of which ends the turn', async () => {
    const { run, project } = await createWorld({ answers: ['Hello.'] })
    const { code, stdout, stderr } = await run(['run', 'Hi', '--json', ...CODEX])

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const envelopes = jsonLines(stdout)
    expect(envelopes.map(({ seq }) => seq)).toEqual(envelopes.map((_, index) => index + 1))
    const events = envelopes.map(({ event }) => event)
    expect(events[0]).toMatchObject({ type: 'turn:start', message: 'Hi' })
    expect(events.find(({ type }) => type === 'session:init')).toMatchObject({
      harness: 'codex',
      cwd: project,
    })
    expect(events.filter(({ type }) => type === 'turn:end')).toMatchObject([{ reason: 'completed' }])
  })

  test('--session continues the thread that the first run showed the id of', async () => {
    const world = await createWorld({ answers: ['Noted: 42.', 'It was 42.'] })
    const first = await world.run(['run', 'Remember 42', ...CODEX])
    const id = UUID.exec(first.stdout)?.[0] ?? ''
    const second = await world.run(['run', 'Which number?', ...CODEX, '--session', id.toUpperCase()])

    expect(second).toMatchObject({ code: 0, stderr: '' })
    expect(second.stdout).toContain('It was 42.')
    expect(second.stdout).toContain(`session ${id}`)
    for (const text of ['Remember 42', 'Noted: 42.', 'Which number?'])
      expect(conversation(world)).toContain(text)
  })

  test('a thread that Codex does not have is refused, and one that it keeps goes on', async () => {
    const world = await createWorld({ answers: ['Noted: 42.', 'It was 42.'] })
    const id = randomUUID()
    const unknown = await world.run(['run', 'Hi', ...CODEX, '--session', id])
    expect({ code: unknown.code, stdout: unknown.stdout }).toEqual({ code: 1, stdout: '' })
    expect(unknown.stderr).toContain(`There is no session "${id}", and Codex has no conversation of that id`)
    expect(world.model.requests).toEqual([])
    const first = await world.run(['run', 'Remember 42', ...CODEX])
    const thread = UUID.exec(first.stdout)?.[0] ?? ''
    // Only Codex has it.
    rmSync(path.join(world.project, '.chirality'), { recursive: true })
    const second = await world.run(['run', 'Which number?', ...CODEX, '--session', thread])
    expect(second).toMatchObject({ code: 0, stderr: '' })
    expect(conversation(world)).toContain('Remember 42')
  })

  test('changes nothing unless it is told that it may', async () => {
    const answers = [{ tool: 'exec_command', input: { cmd: 'echo x > made.txt' } }, 'Done.']
    const { run, project } = await createWorld({ answers: [...answers, ...answers] })
    const made = path.join(project, 'made.txt')
    await run(['run', 'Make it', ...CODEX])
    expect(existsSync(made)).toBe(false)
    await run(['run', 'Make it', ...CODEX, '--permission-mode', 'bypassPermissions'])
    expect(readFileSync(made, 'utf8')).toBe('x\n')
  })

  test('Ctrl-C ends with 130 and says how to go on', async () => {
    const { start } = await createWorld({ answers: [{ text: 'Endless', stallAfter: 1 }] })
    const command = start(['run', 'Go', ...CODEX])
    await command.shows('E')
    await command.shows('session ')
    command.signal('SIGINT')
    const { code, stdout, stderr } = await command.result()
    expect(code).toBe(130)
    expect(stderr).toBe(`chirality: Interrupted. Continue with --session ${UUID.exec(stdout)?.[0]}.\n`)
  })

  test('a missing binary ends with 3, a key that is not taken with 4', async () => {
    const { run } = await createWorld({ otherwise: { error: 401 } })
    const missing = await run(['run', 'Hi', ...CODEX], { env: { CHIRALITY_CODEX_BIN: '/no/codex' } })
    expect(missing).toMatchObject({ code: 3, stdout: '' })
    expect(missing.stderr).toContain('/no/codex does not exist')
    const refused = await run(['run', 'Hi', ...CODEX])
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('Not logged in. Run `codex login`, or set CODEX_API_KEY;')
  })
})

describe('chirality translate --harness codex', () => {
  test('takes what the app-server printed', async () => {
    const { run, spools } = await createWorld({ answers: ['Hello.'] })
    await run(['run', 'Hi', ...CODEX])
    const { code, stdout } = await run(['translate', ...CODEX, spools('codex')[0] ?? ''])
    expect(code).toBe(0)
    expect(texts(stdout)).toEqual(['Hello.'])
  })

  test('takes what exec printed', async () => {
    const { run, project, env } = await createWorld({ answers: ['Hello.'] })
    const overrides = (JSON.parse(env.CHIRALITY_CODEX_CONFIG ?? '[]') as string[]).flatMap(text => [
      '-c',
      text,
    ])
    const exec = await runCodex(['exec', '--json', '--skip-git-repo-check', ...overrides, '-'], {
      project,
      env,
    })
    const { code, stdout } = await run(['translate', ...CODEX], { input: exec })
    expect(code).toBe(0)
    expect(texts(stdout)).toEqual(['Hello.'])
  })
})

async function runCodex(args: string[], { project, env }: Pick<World, 'project' | 'env'>): Promise<string> {
  const child = execFile(codexBinary().path, args, { cwd: project, env })
  child.stdin?.end('Hi')
  let stdout = ''
  child.stdout?.on('data', (text: string) => {
    stdout += text
  })
  const [code] = await once(child, 'close')
  expect(code).toBe(0)
  return stdout
}

function texts(stdout: string): string[] {
  const events = jsonLines<{ type: string; text: string }>(stdout)
  expect(events.filter(({ type }) => type === 'native:unknown')).toEqual([])
  return events.flatMap(({ type, text }) => (type === 'chat:message' ? [text] : []))
}
