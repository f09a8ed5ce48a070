import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { nothingLeft } from './support/processes.ts'
import { asked, userTexts } from './support/requests.ts'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

const ESCAPE = '\u001b'
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/

describe.each(claudeVersions())('chirality run with Claude Code $version', ({ path: binary, version }) => {
  const env = { CHIRALITY_CLAUDE_BIN: binary }

  test('shows the answer, a line for each tool and the cost, without colour in a pipe', async () => {
    const { run } = await createWorld({
      answers: [
        { text: 'I look.', tool: 'Bash', input: { command: 'printf "one\\ntwo"' } },
        { text: 'Two lines.', usage: { input: 1000, output: 50 } },
      ],
    })
    const { code, stdout, stderr } = await run(['run', 'Look', '--allow', 'Bash'], { env })

    expect(stderr).toBe('')
    expect(code).toBe(0)
    const lines = stdout.split('\n')
    expect(lines[0]).toMatch(new RegExp(`^claude-\\S+ · Claude Code ${version} · session ${UUID.source}$`))
    expect(lines.slice(1, 5)).toEqual([
      'I look.',
      '▸ Bash printf "one\\ntwo"',
      '  ✓ one (2 lines)',
      'Two lines.',
    ])
    expect(lines[5]).toMatch(/^\$\d+\.\d{4} · 1100 in · 70 out · (\d+\.\d s|\d+ ms)$/)
    expect(lines.slice(6)).toEqual([''])
    expect(stdout).not.toContain(ESCAPE)
  })

  test('--json prints envelopes and nothing else', async () => {
    const { run, project } = await createWorld({ answers: ['Hello.'] })
    const { code, stdout, stderr } = await run(['run', 'Hi', '--json'], { env })

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const envelopes = jsonLines(stdout)
    expect(envelopes.map(({ seq }) => seq)).toEqual(envelopes.map((_, index) => index + 1))
    const [first, last] = [envelopes[0], envelopes.at(-1)]
    expect(new Set(envelopes.map(({ sessionId }) => sessionId))).toEqual(new Set([first?.sessionId]))
    expect(new Set(envelopes.map(({ turnId }) => turnId))).toEqual(new Set([first?.turnId]))
    expect(first?.sessionId).toMatch(UUID)
    expect(first?.turnId).toMatch(UUID)
    for (const { at } of envelopes) expect(new Date(at).toISOString()).toBe(at)
    expect(first?.event).toMatchObject({ type: 'turn:start', message: 'Hi' })
    expect(last?.event).toMatchObject({ type: 'process:exit', code: 0, ...nothingLeft() })
    const events = envelopes.map(({ event }) => event)
    expect(events.find(event => event.type === 'session:init')).toMatchObject({ cwd: project, version })
    expect(events.filter(event => event.type === 'chat:complete')).toMatchObject([{ text: 'Hello.' }])
  })

  test('--session continues the conversation that the first run showed the id of', async () => {
    const { run, model } = await createWorld({ answers: ['Noted: 42.', 'It was 42.'] })
    const first = await run(['run', 'Remember 42'], { env })
    const id = first.stdout.match(new RegExp(`session (${UUID.source})`))?.[1] ?? ''
    const second = await run(['run', 'Which number?', '--session', id.toUpperCase()], { env })

    expect(second.code).toBe(0)
    expect(second.stdout).toContain('It was 42.')
    expect(second.stdout).toContain(`session ${id}`)
    const conversation = JSON.stringify(asked(model)[1]?.messages)
    expect(conversation).toContain('Remember 42')
    expect(conversation).toContain('Noted: 42.')
    expect(conversation).toContain('Which number?')
  })

  test('an id that neither a project nor the agent knows is refused before anything is spent', async () => {
    const { run, model, project } = await createWorld({ answers: ['Hello again.'] })
    const id = randomUUID()
    const { code, stdout, stderr } = await run(['run', 'Hi', '--session', id], { env })

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(
      `There is no session "${id}", and Claude Code has no conversation of that id in ${project}.`,
    )
    expect(asked(model)).toEqual([])
  })

  test('--max-turns ends with 5', async () => {
    const { run } = await createWorld({ otherwise: { tool: 'Bash', input: { command: 'echo again' } } })
    const { code, stdout, stderr } = await run(['run', 'Loop', '--max-turns', '1', '--allow', 'Bash'], {
      env,
    })

    expect(code).toBe(5)
    expect(stdout).toMatch(/^✗ .*maximum number of turns/m)
    expect(stderr).toMatch(
      /^chirality: The turn limit is reached\. Raise --max-turns\. Continue with --session /,
    )
  })

  test('an API error ends with 1 and names the raw log', async () => {
    const { run, project, spools } = await createWorld({ otherwise: { error: 500 } })
    const { code, stdout, stderr } = await run(['run', 'Hi'], {
      env: { ...env, CLAUDE_CODE_MAX_RETRIES: '0' },
    })

    expect(code).toBe(1)
    expect(stdout).toMatch(/^✗ API Error: .*500/m)
    expect(stderr).toBe(`chirality: The turn failed. The raw log is in ${project}/.chirality/logs.\n`)
    expect(readFileSync(spools()[0] ?? '', 'utf8')).toContain('"is_error":true')
  })

  test('a rejected API key exits with 4', async () => {
    const { run } = await createWorld({ otherwise: { error: 401 } })
    const { code, stdout, stderr } = await run(['run', 'Hi'], {
      env: { ...env, CLAUDE_CODE_MAX_RETRIES: '0' },
    })

    expect(code).toBe(4)
    expect(stdout).toContain('✗ ')
    expect(stderr).toContain(
      'chirality: The key in ANTHROPIC_API_KEY was refused. Correct it, or unset it and log in.',
    )
  })

  test('a missing credential exits with 4', async () => {
    const { run, model } = await createWorld()
    const { code, stderr } = await run(['run', 'Hi', '--json'], {
      env: { ...env, ANTHROPIC_API_KEY: undefined },
    })

    expect(code).toBe(4)
    expect(stderr).toContain('Not logged in')
    expect(asked(model)).toEqual([])
  })

  test('a prompt of 5 MB goes to the agent, which may find it too long', async () => {
    const { run, model } = await createWorld()
    const input = `START ${'word '.repeat(1024 * 1024)}END`
    const { code, stdout, stderr } = await run(['run', '-', '--json'], { env, input })

    const envelopes = jsonLines(stdout)
    expect(envelopes[0]?.event).toMatchObject({ type: 'turn:start', message: input })
    const error = envelopes.map(({ event }) => event).find(event => event.type === 'session:error')
    if (version === '2.1.197') {
      expect({ code, error }).toEqual({ code: 0, error: undefined })
      expect(userTexts(asked(model)[0])).toContain(input)
    } else {
      expect(code).toBe(1)
      expect(error).toMatchObject({ code: 'context_overflow', error: 'Prompt is too long' })
      expect(stderr).toContain(
        'chirality: Too long for the model. Shorten the prompt or start a new session.',
      )
    }
  })
})

describe('what chirality run is given', () => {
  test.each([
    ['as an argument', ['run', 'Say hi'], undefined],
    ['through stdin, for "-"', ['run', '-'], 'Say hi'],
    ['through stdin, for nothing', ['run'], 'Say hi'],
  ])('takes the prompt %s', async (_how, args, input) => {
    const { run, model } = await createWorld()
    const { code } = await run(args, { input })

    expect(code).toBe(0)
    expect(userTexts(asked(model)[0])).toContain('Say hi')
  })

  test.each([
    ['after --', ['run', '--', '--help is what I need'], undefined],
    ['through stdin', ['run'], '--help is what I need'],
  ])('takes a prompt that looks like a flag %s', async (_how, args, input) => {
    const { run, model } = await createWorld()
    const { code } = await run(args, { input })

    expect(code).toBe(0)
    expect(userTexts(asked(model)[0])).toContain('--help is what I need')
  })

  test('a model alias reaches the model as its full name', async () => {
    const { run, model } = await createWorld()
    await run(['run', 'Hi', '--model', 'haiku'])
    expect(asked(model)[0]?.model).toMatch(/^claude-.*haiku/)
  })

  test('--tools "" leaves the agent without tools', async () => {
    const { run, model } = await createWorld()
    const { code, stdout } = await run(['run', 'Hi', '--tools', '', '--json'])

    expect(code).toBe(0)
    expect(asked(model)[0]?.tools ?? []).toEqual([])
    const init = jsonLines(stdout).find(({ event }) => event.type === 'session:init')
    expect(init?.event).toMatchObject({ tools: [] })
  })

  test('--project is where the agent works', async () => {
    const { run, project } = await createWorld({
      answers: [{ tool: 'Bash', input: { command: 'pwd' } }, 'There.'],
    })
    const { stdout } = await run(['run', 'Where?', '--project', project, '--allow', 'Bash(pwd)'], {
      cwd: '/',
    })
    expect(stdout).toContain(`  ✓ ${project}\n`)
  })

  test('without --allow a tool that changes things is denied, and the user sees it', async () => {
    const { run } = await createWorld({
      answers: [{ tool: 'Bash', input: { command: 'touch made-by-agent' } }, 'I may not.'],
    })
    const { code, stdout } = await run(['run', 'Touch it'])

    expect(code).toBe(0)
    expect(stdout).toContain('▸ Bash touch made-by-agent\n')
    expect(stdout).toContain('  ✗ Permission to use Bash')
  })

  test('escape sequences of the model and of tools do not reach the terminal', async () => {
    const { run } = await createWorld({
      answers: [
        { tool: 'Bash', input: { command: 'printf "\\033]0;title\\007\\033[2Jcleared"' } },
        { text: `${ESCAPE}[31mred${ESCAPE}]52;c;aGk=\u0007 and \u009b5mblinking\u202e` },
      ],
    })
    const { stdout } = await run(['run', 'Paint', '--allow', 'Bash'])

    expect(stdout).toContain('cleared')
    expect(stdout).toContain('red and blinking')
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u)
  })
})
