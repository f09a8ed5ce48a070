import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import type { HarnessTurnOpts, Session, TurnProcess, TurnTrace, UIEvent } from '@chirality/core'
import type { Script } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import type { MessagesApiHarness } from '../../src/messages-api/harness.ts'
import { findByMarker, MARKER_VARIABLE } from '../../src/process/system/leftovers.ts'
import { readProcess } from '../../src/process/system/process-table.ts'
import { type Host, type HostStart, useHosts } from '../support/host.ts'
import { isRunning, TEST_ENV } from '../support/programs.ts'
import { collect, fileAppears, ofType, statuses } from '../support/turns.ts'
import { endOf, releaseStalled, sentMessages, turnOf, useApiWorld } from './support/world.ts'

// The loop of a turn ends with the Chirality that runs it. The next one tells the turn from its raw log, and ends it.

const world = useApiWorld()
const hosts = useHosts()
const FREE = { permissionMode: 'bypassPermissions' } as const

describe('a turn of a Chirality that was killed', () => {
  test('in a command: told as far as it came, nothing of it runs, and the conversation goes on', async () => {
    const started = path.join(world.project, 'started')
    const command = `sleep 600 & set -m; sleep 600 & touch ${started}; sleep 600`
    const { harness, model } = await world.open({
      answers: [{ text: 'Looking.', tool: 'bash', input: { command }, id: 'c1' }, 'Here again.'],
    })
    const session = world.session()
    const host = startHost({ model, session, opts: FREE })
    await fileAppears(started)
    await host.tells(({ type }) => type === 'usage')
    await host.kill()
    expect((await findByMarker(world.marker)).length).toBeGreaterThan(2)
    const events = await collect(harness.adoptTurn(session, host.trace()))
    expect(events.slice(0, host.events.length)).toEqual(host.events)
    expect(await findByMarker(world.marker)).toEqual([])
    expect(statuses(events, 'cleanup')).toMatchObject([{ level: 'warn' }])
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'process_crashed', error: expect.stringContaining('ended with Chirality') },
    ])
    expect(endOf(events)).toBe('crashed')
    expect(existsSync(host.processes[0]?.stderrPath ?? '')).toBe(false)
    session.claudeSessionId = ofType(events, 'session:init')[0]?.claudeSessionId ?? null
    const next = await turnOf(harness, session, 'And now?')
    expect(ofType(next, 'chat:complete')).toMatchObject([{ text: 'Here again.' }])
    expect(sentMessages(model).map(({ content }) => content.map(({ type }) => type))).toEqual([
      ['text'],
      ['text', 'tool_use'],
      ['tool_result', 'text'],
    ])
  })

  test('before anybody read what it said: not a word of the raw log is lost', async () => {
    const { harness, model } = await world.open({
      answers: [{ text: 'one two three', chunkChars: 4, stallAfter: 2 }],
    })
    const session = world.session()
    const host = startHost({ model, session, holdAt: 'turn:start' })
    await model.waitForRequest(({ state }) => state === 'stalled')
    const [process] = host.processes
    while (!readFileSync(process?.spoolPath ?? '', 'utf8').includes('two ')) await nextLook()
    await host.kill()
    expect(host.events.map(({ type }) => type)).toEqual(['turn:start'])
    const events = await collect(harness.adoptTurn(session, host.trace()))
    expect(ofType(events, 'chat:delta').map(({ text }) => text)).toEqual(['one ', 'two '])
    expect(ofType(events, 'chat:message')).toMatchObject([{ text: 'one two ', aborted: true }])
    expect(endOf(events)).toBe('crashed')
    expect(model.requests).toHaveLength(1)
  })

  test('while it asked: closed, and what was asked does not run', async () => {
    const { harness, model } = await world.open({
      answers: [{ tool: 'bash', input: { command: 'touch a.txt' } }],
    })
    const session = world.session()
    const opts = { permissionMode: 'default' } as const
    const host = startHost({ model, session, opts, decision: 'never' })
    await host.tells(({ type }) => type === 'permission:request')
    await host.kill()
    const events = await collect(harness.adoptTurn(session, host.trace()))
    expect(events.slice(0, host.events.length)).toEqual(host.events)
    expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'cancelled', by: 'turn-end' }])
    expect(endOf(events)).toBe('crashed')
    expect(existsSync(path.join(world.project, 'a.txt'))).toBe(false)
  })
})

describe('a turn that had ended gives the same events again', () => {
  const LOST = '11111111-1111-4111-8111-111111111111'
  const ASKING: HarnessTurnOpts = { permissionMode: 'default', decide: async () => ({ behavior: 'allow' }) }
  const SLOW = { text: 'one two', chunkChars: 4, stallAfter: 1 }
  test.each<[string, Script['answers'], HarnessTurnOpts, Partial<Session>]>([
    ['an answer', [{ thinking: 'Hm.', text: 'one two', chunkChars: 4 }], {}, {}],
    ['in whole messages', [{ text: 'one two', chunkChars: 4 }], { includePartialMessages: false }, {}],
    ['commands', [{ tool: 'bash', input: { command: 'echo hello' } }, 'Done.'], FREE, {}],
    ['a decision', [{ tool: 'bash', input: { command: 'echo hello' } }, 'Done.'], ASKING, {}],
    ['a lost conversation', ['Afresh.'], {}, { claudeSessionId: LOST }],
    ['another try', [{ error: { status: 529 } }, 'Done.'], {}, {}],
    ['a failure', [{ error: { status: 401 } }], {}, {}],
    ['a limit', [{ tool: 'list', input: {} }, 'never said'], { maxTurns: 1 }, {}],
    ['silence', [SLOW], { stallMs: 1 }, {}],
  ])('%s', async (_what, answers, opts, fields) => {
    const { harness, model } = await world.open({ answers })
    const session = world.session(fields)
    const { events, trace } = await traced(harness, session, opts, event => {
      if (event.type === 'status' && event.status === 'stalled') releaseStalled(model)
    })
    const again = await collect(harness.adoptTurn(session, trace))
    expect(timeless(again)).toEqual(timeless(events))
    expect(endOf(events)).toBeOneOf(['completed', 'failed', 'max_turns'])
  })

  test.each([
    ['interrupted', (harness: MessagesApiHarness, id: string) => harness.interrupt(id)],
    ['killed', (harness: MessagesApiHarness, id: string) => harness.kill(id)],
    ['timeout', (_: MessagesApiHarness, _id: string, stop: AbortController) => stop.abort(TOO_LONG)],
  ])('%s', async (reason, how) => {
    const { harness } = await world.open({ answers: [{ text: 'one two', chunkChars: 4, stallAfter: 1 }] })
    const session = world.session()
    const stop = new AbortController()
    const opts = { signal: stop.signal }
    const { events, trace } = await traced(harness, session, opts, event => {
      if (event.type === 'chat:delta') how(harness, session.id, stop)
    })
    expect(endOf(events)).toBe(reason)
    expect(timeless(await collect(harness.adoptTurn(session, trace)))).toEqual(timeless(events))
  })

  const TOO_LONG = new DOMException('too long', 'TimeoutError')
})

describe('a trace', () => {
  test('names the raw log and every command, by a marker that no other turn has', async () => {
    const { harness } = await world.open({
      answers: [
        { tool: 'bash', input: { command: 'echo $$ > pid' } },
        'One.',
        { tool: 'bash', input: { command: `echo $${MARKER_VARIABLE}` } },
        'Two.',
      ],
    })
    const session = world.session()
    const first = await traced(harness, session, FREE)
    const [turn, command, ...none] = first.trace.processes
    expect(none).toEqual([])
    expect(turn?.spoolPath).toBe(world.spools()[0])
    expect(await readProcess(turn?.pid ?? 0)).toBeUndefined()
    const pid = Number(readFileSync(path.join(world.project, 'pid'), 'utf8'))
    expect(command).toEqual({ ...turn, pid, startTime: expect.any(String) })
    session.claudeSessionId = ofType(first.events, 'session:init')[0]?.claudeSessionId ?? null
    const second = await traced(harness, session, FREE)
    const marker = second.trace.processes[0]?.marker
    expect(marker).not.toBe(turn?.marker)
    expect(JSON.stringify(ofType(second.events, 'tool:result'))).toContain(marker)
    expect([turn?.marker, marker]).not.toContain(session.claudeSessionId)
  })

  test('that cannot be kept does not end the turn', async () => {
    const { harness } = await world.open({ answers: ['Done.'] })
    const onProcess = () => {
      throw new Error('disk full')
    }
    expect(endOf(await turnOf(harness, world.session(), 'Go', { onProcess }))).toBe('completed')
    expect(world.logs).toContainEqual(expect.objectContaining({ event: 'turn:untraced' }))
  })

  test('of what we run in ourselves ends nothing', async () => {
    const { model } = await world.open({ answers: [] })
    const marker = randomUUID()
    const env = { ...TEST_ENV, [MARKER_VARIABLE]: `${world.marker}:${marker}` }
    const parent = spawn('/bin/sleep', ['600'], { env, detached: true, stdio: 'ignore' })
    const exited = once(parent, 'exit')
    await once(parent, 'spawn')
    const pid = parent.pid ?? 0
    world.atEnd(async () => {
      parent.kill('SIGKILL')
      await exited
    })
    const startTime = (await readProcess(pid))?.startedAt ?? ''
    const spoolPath = path.join(world.project, '.chirality', 'logs', 'messages-api', 'x.ndjson')
    const process = { pid, startTime, marker, spoolPath, stderrPath: spoolPath, spoolOffset: 0 }
    const environment = { ...world.environment(model), [MARKER_VARIABLE]: env[MARKER_VARIABLE] ?? '' }
    const { harness } = await world.open({ answers: [] }, { environment })
    expect(endOf(await collect(harness.adoptTurn(world.session(), traceOf([process]))))).toBe('crashed')
    expect(await isRunning(pid)).toBe(true)
    const { harness: stranger } = await world.open({ answers: [] })
    await collect(stranger.adoptTurn(world.session(), traceOf([process])))
    expect(await isRunning(pid)).toBe(false)
  })

  test('without a process: the message is not sent again by itself', async () => {
    const { harness, model } = await world.open({ answers: [] })
    const events = await collect(harness.adoptTurn(world.session(), traceOf([])))
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'process_crashed', error: expect.stringContaining('Send the message again') },
    ])
    expect(endOf(events)).toBe('crashed')
    expect(model.requests).toEqual([])
  })

  test('whose raw log is gone: a word about it', async () => {
    const { harness } = await world.open({ answers: ['Done.'] })
    const session = world.session()
    const { trace } = await traced(harness, session, {})
    rmSync(trace.processes[0]?.spoolPath ?? '')
    const events = await collect(harness.adoptTurn(session, trace))
    expect(ofType(events, 'session:error')).toMatchObject([{ error: expect.stringContaining('is gone') }])
    expect(endOf(events)).toBe('crashed')
  })

  test('whose last line a crash cut off: told up to there', async () => {
    const { harness } = await world.open({ answers: ['Done.'] })
    const session = world.session()
    const { trace, events } = await traced(harness, session, {})
    appendFileSync(trace.processes[0]?.spoolPath ?? '', '{"type":"system","subt')
    expect(timeless(await collect(harness.adoptTurn(session, trace)))).toEqual(timeless(events))
    appendFileSync(trace.processes[0]?.spoolPath ?? '', '\n{"type":"request"}\n')
    const damaged = await collect(harness.adoptTurn(session, trace))
    expect(ofType(damaged, 'native:unknown')).toMatchObject([{ nativeType: 'malformed' }])
  })
})

function startHost(request: Omit<HostStart, 'agent' | 'place' | 'message'>): Host {
  const place = { home: world.home, marker: world.marker }
  const host = hosts.start({ agent: 'messages-api', place, message: 'Go', ...request })
  world.atEnd(() => host.kill())
  return host
}

/** A turn to its end, and what a store would have kept of it. */
async function traced(
  harness: MessagesApiHarness,
  session: Session,
  ...[opts, onEvent]: [HarnessTurnOpts, ((event: UIEvent) => void)?]
): Promise<{ events: UIEvent[]; trace: TurnTrace }> {
  const processes: TurnProcess[] = []
  const events: UIEvent[] = []
  const onProcess = (process: TurnProcess) => void processes.push(process)
  for await (const event of harness.startTurn(session, 'Go', { ...opts, onProcess })) {
    events.push(event)
    onEvent?.(event)
  }
  return { events, trace: traceOf(processes) }
}

function traceOf(processes: TurnProcess[]): TurnTrace {
  return { turnId: 't', startedAt: '2026-01-01T00:00:00.000Z', message: 'Go', processes }
}

/** How long it took is not known a second time. */
function timeless(events: UIEvent[]): UIEvent[] {
  return events.map(event => (event.type === 'turn:end' ? { ...event, durationMs: undefined } : event))
}

function nextLook(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 5))
}
