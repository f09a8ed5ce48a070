import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { nothingLeft } from './support/processes.ts'
import { jsonLines } from './support/running-command.ts'
import { BIN, createWorld, program } from './support/world.ts'

const STALLED = { answers: [{ text: 'So far and no further.', chunkChars: 6, stallAfter: 2 }] }

describe.each(claudeVersions())('stopping Claude Code $version', ({ path: binary }) => {
  const env = { CHIRALITY_CLAUDE_BIN: binary }

  test('Ctrl-C interrupts the turn, keeps the partial answer and exits with 130', async () => {
    const { start } = await createWorld(STALLED)
    const command = start(['run', 'Talk'], { env })
    await command.shows('So far and')
    command.signal('SIGINT')
    const { code, stdout, stderr } = await command.result()

    expect(code).toBe(130)
    expect(stdout).toMatch(/^So far and/m)
    expect(stdout).toMatch(/\n■ interrupted\n$/)
    expect(stderr).toMatch(/^chirality: Interrupted\. Continue with --session [0-9a-f-]{36}\.\n$/)
  })

  test('Ctrl-C in a tool leaves nothing of the tool running', async () => {
    const { start } = await createWorld({
      answers: [{ tool: 'Bash', input: { command: 'echo started; sleep 100000' } }],
    })
    const command = start(['run', 'Wait', '--json', '--allow', 'Bash'], { env })
    await command.prints('tool:input')
    command.signal('SIGINT')
    const { code, stdout } = await command.result()

    expect(code).toBe(130)
    const events = jsonLines(stdout).map(({ event }) => event)
    expect(events.filter(event => event.type === 'turn:end')).toMatchObject([{ reason: 'interrupted' }])
    expect(events.at(-1)).toMatchObject({ type: 'process:exit', ...nothingLeft() })
  })

  test('SIGTERM stops the agent and exits with 130', async () => {
    const { start } = await createWorld(STALLED)
    const command = start(['run', 'Talk', '--json'], { env })
    await command.prints('chat:delta')
    command.signal('SIGTERM')
    const { code, stdout, stderr } = await command.result()

    expect(code).toBe(130)
    const events = jsonLines(stdout).map(({ event }) => event)
    expect(events.filter(event => event.type === 'turn:end')).toMatchObject([{ reason: 'killed' }])
    expect(events.at(-1)).toMatchObject({ type: 'process:exit', ...nothingLeft() })
    expect(stderr).toContain('chirality: The agent was stopped.')
  })

  test('--timeout ends the turn with 1 and the word', async () => {
    const { run } = await createWorld(STALLED)
    const { code, stdout, stderr } = await run(['run', 'Talk', '--timeout', '1'], { env })

    expect(code).toBe(1)
    expect(stdout).toMatch(/^■ timeout$/m)
    expect(stderr).toContain('chirality: Stopped by the timeout. Raise --timeout.')
  })

  test('when the reader of stdout leaves, the agent is ended', async () => {
    const { start, model } = await createWorld({
      answers: [
        {
          text: 'First part, then more.',
          chunkChars: 5,
          stallAfter: 1,
          tool: 'Read',
          input: { file_path: '/' },
        },
        { text: 'Never sent.', stallAfter: 'nothing' },
      ],
    })
    const command = start(['run', 'Talk'], { env })
    await command.shows('First')
    command.closeStdout()
    model.release()
    const { code, stderr } = await command.result()

    expect(code).toBe(130)
    expect(stderr).toContain('chirality: The agent was stopped.')
  })
})

describe('stopping an agent that does not want to', () => {
  test('the second Ctrl-C ends what the first did not', async () => {
    const { start } = await createWorld()
    const command = start(['run', 'Hi'], { env: { CHIRALITY_CLAUDE_BIN: program('ignores-interrupt.mjs') } })
    await command.shows('ready')
    command.signal('SIGINT')
    await command.shows('no')
    command.signal('SIGINT')
    const { code, stdout } = await command.result()

    expect(code).toBe(130)
    expect(stdout).toMatch(/■ killed\n$/)
  })

  test('an agent that ignores SIGTERM is killed', async () => {
    const { start } = await createWorld()
    const command = start(['run', 'Hi', '--json'], {
      env: { CHIRALITY_CLAUDE_BIN: program('ignores-all.mjs') },
    })
    await command.prints('chat:message')
    command.signal('SIGTERM')
    const { code, stdout } = await command.result()

    expect(code).toBe(130)
    const last = jsonLines(stdout).at(-1)?.event
    expect(last).toMatchObject({ type: 'process:exit', signal: 'SIGKILL', ...nothingLeft() })
  })

  test('an agent that says nothing is ended by --timeout', async () => {
    const { run } = await createWorld()
    const { code, stdout, stderr } = await run(['run', 'Hi', '--timeout', '1'], {
      env: { CHIRALITY_CLAUDE_BIN: program('hangs.sh') },
    })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '■ timeout\n' })
    expect(stderr).toBe('chirality: Stopped by the timeout. Raise --timeout.\n')
  })
})

describe('a reader that does not read', () => {
  test('holds the agent up no longer than until SIGTERM', async () => {
    const { start, model } = await createWorld({
      answers: [
        {
          text: { repeat: 'many words ', bytes: 4_000_000 },
          chunkChars: 2000,
          tool: 'Read',
          input: { file_path: '/' },
        },
        { text: 'Never sent.', stallAfter: 'nothing' },
      ],
    })
    const command = start(['run', 'Talk', '--json'])
    command.pauseStdout()
    await model.waitForRequest(request => request.served === 'answers[1]')
    command.signal('SIGTERM')
    const { code } = await command.result()
    expect(code).toBe(130)
  })

  test('a pipe to head -1 ends by itself', async () => {
    const { env, project } = await createWorld({ otherwise: 'Hello.' })
    const pipeline = `'${process.execPath}' '${BIN}' run Hi --json | head -1`
    const shell = spawn('/bin/sh', ['-c', pipeline], {
      cwd: project,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    shell.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    const [code] = await once(shell, 'close')

    expect(code).toBe(0)
    expect(jsonLines(text)).toMatchObject([{ seq: 1, event: { type: 'turn:start' } }])
  })
})
