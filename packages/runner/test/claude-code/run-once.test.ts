import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { claudeVersions } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { ClaudeRunError } from '../../src/claude-code/run/run-account.ts'
import { lastBody } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

describe.each(claudeVersions())('a run of Claude Code $version', ({ path: binary, version }) => {
  test('happy path: session, model, version, texts, usage, cost and the raw log', async () => {
    const model = await world.model({
      answers: [{ text: 'Let me see.', tool: 'Bash', input: { command: 'echo 4' } }, 'It is 4.'],
    })
    const response = await world.harness(binary, { model }).run({
      cwd: world.project,
      prompt: 'What is 2 + 2?',
      systemPrompt: 'You are a calculator.',
      allowedTools: ['Bash'],
      tools: 'Bash,Read',
      disallowedTools: ['Read'],
      label: 'coder-task-7',
      model: 'claude-opus-5-5',
    })
    expect(response).toMatchObject({
      sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      model: 'claude-opus-5-5',
      version,
      finalText: 'It is 4.',
      streamText: 'Let me see.\n\nIt is 4.',
      degraded: false,
      usage: { input_tokens: 200, output_tokens: 40 },
      permissionDenials: [],
      durationMs: expect.any(Number),
      numTurns: 2,
      cwd: world.project,
      tools: ['Bash'],
      permissionMode: 'dontAsk',
      continuedFrom: null,
      forked: false,
      attempts: 1,
    })
    expect(path.basename(response.rawEventsPath)).toContain('-coder-task-7-')
    expect(response.totalCostUsd).toBeGreaterThan(0)
    expect(response.rawEventsPath.startsWith(`${world.project}/.chirality/logs/claude-code/`)).toBe(true)
    const lines = readFileSync(response.rawEventsPath, 'utf8').trimEnd().split('\n')
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ subtype: 'init', session_id: response.sessionId })
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ type: 'result', result: 'It is 4.' })
    expect(JSON.stringify(lastBody(model).system)).toContain('You are a calculator.')
  })

  test('two runs in one folder at the same time each say so, a later one alone does not', async () => {
    const model = await world.model({ answers: ['One.', 'Two.', 'Three.'] })
    const harness = world.harness(binary, { model })
    const request = { cwd: world.project, prompt: 'Go' }
    // Both enter the folder before the first agent is started.
    const both = await Promise.all([harness.run(request), harness.run(request)])
    expect(both.map(({ sharedWith }) => sharedWith)).toEqual([1, 1])
    expect(await harness.run(request)).toMatchObject({ sharedWith: 0 })
  })

  test('a long line: an answer of 3 MB arrives whole', async () => {
    const bytes = 3 * 1024 * 1024
    const model = await world.model({ answers: [{ text: { repeat: 'long ', bytes }, chunkChars: 'all' }] })
    const { finalText } = await world.harness(binary, { model }).run({ cwd: world.project, prompt: 'Go on' })
    expect(finalText.length).toBe(bytes)
  })

  test('permission denials are in the answer', async () => {
    const { model, request } = await denied()
    const response = await world.harness(binary, { model }).run(request)
    expect(response.finalText).toBe('I may not.')
    expect(response.permissionDenials).toMatchObject([
      { tool_name: 'Bash', tool_use_id: 'toolu_1', tool_input: { command: 'touch x' } },
    ])
  })

  test('permission denials fail the run when they must not happen', async () => {
    const { model, request } = await denied()
    const error = await failure(world.harness(binary, { model }).run({ ...request, failOnDenial: true }))
    expect(error.message).toContain('not allowed to use Bash')
    expect(error.permissionDenials).toMatchObject([{ tool_name: 'Bash' }])
    expect(existsSync(error.rawEventsPath)).toBe(true)
  })

  test('continue: the second run goes on in the same session, with a system prompt of its own', async () => {
    const model = await world.model({ answers: ['I am Ada.', 'Still Ada.'] })
    const harness = world.harness(binary, { model })
    const request = { cwd: world.project, prompt: 'Who are you?', appendSystemPrompt: 'First prompt.' }
    const first = await harness.run(request)
    const second = await harness.run({
      ...request,
      prompt: 'And now?',
      continue: true,
      appendSystemPrompt: 'Second prompt.',
    })
    expect(second.sessionId).toBe(first.sessionId)
    expect(second).toMatchObject({ continuedFrom: first.sessionId, forked: false })
    expect(second.finalText).toBe('Still Ada.')
    expect(JSON.stringify(lastBody(model).messages)).toContain('I am Ada.')
    expect(JSON.stringify(lastBody(model).system)).toContain('Second prompt.')
  })

  test('a timeout ends the run, and the log is kept', async () => {
    const model = await world.model({ answers: [{ text: 'Too slow.', stallAfter: 0 }] })
    const timeout = new AbortController()
    const running = world.harness(binary, { model }).run({
      cwd: world.project,
      prompt: 'Hurry',
      signal: timeout.signal,
    })
    await model.waitForRequest(request => request.state === 'stalled')
    timeout.abort(new DOMException('Too slow', 'TimeoutError'))
    const error = await failure(running)
    expect(error.code).toBe('timeout')
    expect(readFileSync(error.rawEventsPath, 'utf8')).toContain('"subtype":"init"')
  })

  async function denied() {
    const tool = { tool: 'Bash', input: { command: 'touch x' }, id: 'toolu_1' }
    const model = await world.model({ answers: [tool], otherwise: 'I may not.' })
    return { model, request: { cwd: world.project, prompt: 'Touch it' } }
  }
})

describe('a run of a CLI', () => {
  test('without a final text answers with what was streamed, and says so', async () => {
    const response = await run({ said: ['First part.', 'Second part.'], results: [{ result: '' }] })
    expect(response).toMatchObject({ finalText: 'First part.\n\nSecond part.', degraded: true })
  })

  test('without any text fails, and names the log', async () => {
    const error = await failure(run({ results: [{ result: '' }] }))
    expect(error).toMatchObject({ code: 'unknown', message: expect.stringContaining('gave no answer') })
    expect(error.message).toContain(error.rawEventsPath)
  })

  test('without a result fails, though it said something, and names the log', async () => {
    const error = await failure(run({ said: ['Half an answer'] }))
    expect(error).toMatchObject({ code: 'process_crashed', harnessId: 'claude-code' })
    expect(readFileSync(error.rawEventsPath, 'utf8')).toContain('Half an answer')
  })

  test('that crashes before it says anything is started once more, and only once', async () => {
    const response = await crashing({ crashes: 1 })
    expect(response).toMatchObject({ finalText: 'Here I am.', attempts: 2 })
    const error = await failure(crashing({ crashes: 2 }))
    expect(error.code).toBe('process_crashed')
  })

  test('that was to go on in one conversation and is in another says so', async () => {
    const resumeSessionId = '5f0c6f3e-0000-4000-8000-000000000000'
    const fake = world.fake('fake-claude-result', JSON.stringify({ results: [{ result: 'end' }] }))
    const response = await world.harness(fake).run({ cwd: world.project, prompt: 'Hi', resumeSessionId })
    expect(response).toMatchObject({ continuedFrom: resumeSessionId, forked: true })
  })

  test('with several results sums up what they cost', async () => {
    const usage = { input_tokens: 10, output_tokens: 1 }
    const response = await run({
      said: ['a', 'b'],
      results: [
        { result: 'a', total_cost_usd: 0.25, usage },
        { result: 'b', total_cost_usd: 0.75, usage, origin: { kind: 'task-notification' } },
      ],
    })
    expect(response).toMatchObject({
      finalText: 'b',
      totalCostUsd: 0.75,
      usage: { input_tokens: 20, output_tokens: 2 },
    })
  })

  test('that failed has the error of its result', async () => {
    const failed = { result: 'Failed to authenticate', is_error: true, api_error_status: 403 }
    const error = await failure(run({ results: [failed] }))
    expect(error).toMatchObject({
      code: 'auth_failed',
      message: expect.stringContaining('Failed to authenticate'),
    })
    expect(error.message).toContain(`The raw log is ${error.rawEventsPath}.`)
  })

  test('that works in another folder than it was told to is stopped, unless a worktree was asked for', async () => {
    const output = JSON.stringify({ cwd: world.root, results: [{ result: 'Done there.' }] })
    const harness = world.harness(world.fake('fake-claude-result', output))
    const request = { cwd: world.project, prompt: 'Hi' }
    const error = await failure(harness.run(request))
    expect(error.code).toBe('invalid_query')
    expect(error.message).toContain(
      `The agent works in ${world.root}, and was told to work in ${world.project}.`,
    )
    const chosen = await harness.run({ ...request, extraArgs: ['--worktree', 'x'] })
    expect(chosen).toMatchObject({ cwd: world.root, finalText: 'Done there.' })
    const link = path.join(world.root, 'link-to-project')
    symlinkSync(world.project, link)
    const real = JSON.stringify({ cwd: world.project, results: [{ result: 'Here.' }] })
    const there = world.harness(world.fake('fake-claude-result', real))
    expect(await there.run({ ...request, cwd: link })).toMatchObject({ finalText: 'Here.' })
  })

  test('keeps its raw log where it is told to, or not at all', async () => {
    const fake = world.fake('fake-claude-result', JSON.stringify({ results: [{ result: 'end' }] }))
    const request = { cwd: world.project, prompt: 'Hi' }
    const folder = path.join(world.root, 'raw', 'logs')
    const elsewhere = await world.harness(fake, { rawLogs: { folder } }).run(request)
    expect(path.dirname(elsewhere.rawEventsPath)).toBe(path.join(folder, 'claude-code'))
    expect(readFileSync(elsewhere.rawEventsPath, 'utf8')).toContain('"result":"end"')
    const off = await world.harness(fake, { rawLogs: 'off' }).run(request)
    expect(off).toMatchObject({ finalText: 'end', rawEventsPath: '' })
    const crashed = await failure(
      world.harness(world.fake('fake-claude-result', '{}'), { rawLogs: 'off' }).run(request),
    )
    expect(crashed.message).not.toContain('raw log')
    expect(existsSync(path.join(world.project, '.chirality'))).toBe(false)
    expect(readdirSync(tmpdir()).filter(name => name.startsWith(`chirality-${process.pid}-`))).toEqual([])
  })

  test('gets extra arguments as they are', async () => {
    const harness = world.harness(world.fake('fake-claude-record'))
    await harness.run({ cwd: world.project, prompt: 'Hi', extraArgs: ['--bare', '--debug', 'api'] })
    const seen = JSON.parse(readFileSync(`${world.project}/seen.json`, 'utf8'))
    expect(seen.args.slice(-3)).toEqual(['--bare', '--debug', 'api'])
  })

  test('keeps the raw output byte for byte', async () => {
    const said = ['Grüße, 你好 😀', '\u2028 \u0000 "quoted" \\']
    const fake = world.fake('fake-claude-result', JSON.stringify({ said, results: [{ result: 'end' }] }))
    const { rawEventsPath } = await world.harness(fake).run({ cwd: world.project, prompt: 'Hi' })
    const printed = execFileSync(fake, ['-p'], { cwd: world.project })
    expect(printed.length).toBeGreaterThan(0)
    expect(readFileSync(rawEventsPath).equals(printed)).toBe(true)
  })

  test('that was stopped before it started has no log to name', async () => {
    const harness = world.harness(world.fake('fake-claude-result', '{}'))
    const error = await failure(
      harness.run({ cwd: world.project, prompt: 'Hi', signal: AbortSignal.abort() }),
    )
    expect(error).toMatchObject({ code: 'aborted', message: 'The run was stopped.', rawEventsPath: '' })
  })

  /** Ends at once so many times, and is asked for its version and its flags in between. */
  function crashing({ crashes }: { crashes: number }) {
    const fake = world.fake('fake-claude-result', JSON.stringify({ results: [{ result: 'Here I am.' }] }))
    const binary = path.join(world.project, `crashes-${crashes}`)
    const count = `[ "$(cat ${binary}.ran 2> /dev/null | wc -l)" -lt ${crashes} ]`
    const script = [
      '#!/bin/sh',
      `case "$*" in *stream-json*) if ${count}; then echo x >> ${binary}.ran; exit 1; fi;; esac`,
      `exec ${fake} "$@"`,
    ]
    writeFileSync(binary, script.join('\n'), { mode: 0o755 })
    return world.harness(binary).run({ cwd: world.project, prompt: 'Hi' })
  }

  function run(output: { said?: string[]; results?: Record<string, unknown>[] }) {
    const harness = world.harness(world.fake('fake-claude-result', JSON.stringify(output)))
    return harness.run({ cwd: world.project, prompt: 'Hi' })
  }
})

async function failure(run: Promise<unknown>): Promise<ClaudeRunError> {
  const error = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof ClaudeRunError) return error
  throw new Error(`expected a ClaudeRunError, got ${error}`)
}
