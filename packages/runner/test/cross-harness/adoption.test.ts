import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import type { Session, TurnTrace, UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { acpAgents } from '../acp/contestants.ts'
import { useHosts } from '../support/host.ts'
import { isRunning, untilGone } from '../support/programs.ts'
import { fileAppears, nothingLeft, ofType } from '../support/turns.ts'
import { useArena } from './arena.ts'
import { type Contestant, contestants } from './contestants.ts'

// A Chirality is killed in the middle of a turn. The next one tells the same events, each once, and reads on.

const arena = useArena()
const hosts = useHosts()
const all = contestants()
/** Without an agent that is part of the host there is something to adopt. */
const survivors = all.filter(
  ({ name, endsWithHost }) => name !== 'messages-api' && name !== 'codex app-server' && !endsWithHost,
)
/** Agents of the Agent Client Protocol, with CHIRALITY_TEST_ALL: they read their input from the host. */
const mortals = all.filter(({ endsWithHost }) => endsWithHost)
/** Where the release does not matter. */
const oneOfEach = all.filter(agent => agent.processPerTurn && !agent.isOlder)

const STALLING = { text: 'one two three', chunkChars: 4, stallAfter: 2 }

describe.each(named(survivors))('%s', (_name, agent) => {
  test('an agent that still streams is read on, from the first event to the last', async () => {
    await arena.open(agent, { answers: [STALLING] })
    const { trace, told, session } = await killed(agent)
    expect(await isRunning(trace.processes[0]?.pid ?? 0)).toBe(true)
    const reading = arena.adopt(session, trace)
    expect(arena.model.release()).toBe(1)
    const events = await reading
    expectSame(events, told)
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'one two three' }])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
    expect(arena.harness.isRunning(session.id)).toBe(false)
  })

  test('an adopted turn that was read to its end gives the same events again', async () => {
    await arena.open(agent, {
      answers: [{ blocks: [{ text: 'Looking.' }, agent.command('echo from-the-tool')] }, 'Done.'],
    })
    const { trace, told, session } = await killed(agent, { holdAt: 'turn:end' })
    const events = await arena.adopt(session, trace)
    // A process that was kept may have said that it rests since.
    const news = events.splice(told.length - 1).filter(({ type }) => type !== 'status')
    expect(timeless(events)).toEqual(timeless(told.slice(0, -1)))
    expect(timeless(news.slice(0, 1))).toEqual(timeless(told.slice(-1)))
    expect(news.slice(1)).toMatchObject([{ type: 'process:exit', ...nothingLeft() }])
    expect(ofType(events, 'tool:result')).toMatchObject([{ isError: false }])
  })
})

describe.each(named(mortals))('%s ends with its host', (_name, agent) => {
  test('what it asked is told again and closed, nothing of it runs, and the next message goes on', async () => {
    const file = path.join(arena.project, 'asked')
    const asking = acpAgents().find(({ name }) => name === agent.name)?.asking
    const touch = (asking ?? agent).command(`touch ${file}`)
    await arena.open(agent, { answers: [{ blocks: [touch] }], otherwise: 'Back again.' })
    const session = arena.session()
    const { place, model } = arena
    const opts = { permissionMode: 'default' as const }
    const host = hosts.start({
      agent: agent.name,
      model,
      place,
      session,
      message: 'Go',
      opts,
      decision: 'never',
    })
    await host.tells(({ type }) => type === 'permission:request').finally(() => host.kill())
    const events = await arena.adopt(session, host.trace())
    expectSame(events, host.events)
    expect(ofType(events, 'permission:resolved')).toMatchObject([{ outcome: 'cancelled' }])
    // One that sees the end of its input may end its turn itself, as Copilot does.
    expect(['crashed', 'completed']).toContain(ofType(events, 'turn:end')[0]?.reason)
    expect(existsSync(file)).toBe(false)
    const next = await arena.collect(session, 'And now?', opts)
    expect(ofType(next, 'chat:complete')).toMatchObject([{ text: 'Back again.' }])
    expect(ofType(next, 'permission:request')).toEqual([])
  })
})

describe.each(named(oneOfEach))('%s', (_name, agent) => {
  test('a turn that ended meanwhile gives the same events, and its trace is removed', async () => {
    await arena.open(agent, { answers: [STALLING] })
    const { trace, told, session } = await killed(agent)
    expect(arena.model.release()).toBe(1)
    await untilGone(trace.processes[0]?.pid ?? 0)
    const events = await arena.adopt(session, trace)
    expectSame(events, told)
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'completed' }])
    expect(notes()).toEqual([])
  })

  test('a failed resume is emitted again before the new start', async () => {
    const claudeSessionId = '00000000-0000-4000-8000-000000000000'
    await arena.open(agent, { answers: [STALLING] })
    const { trace, told, session } = await killed(agent, { session: arena.session({ claudeSessionId }) })
    expect(trace.processes).toHaveLength(2)
    const reading = arena.adopt(session, trace)
    arena.model.release()
    const events = await reading
    expectSame(events, told)
    expect(ofType(events, 'session:error')).toMatchObject([{ code: 'session_not_found', recovered: true }])
    expect(ofType(events, 'status').map(({ status }) => status)).toContain('resume_failed')
    expect(ofType(events, 'chat:complete')).toMatchObject([{ text: 'one two three' }])
  })

  test.each(['interrupt', 'kill'] as const)('%s stops it, with what it started', async way => {
    const started = path.join(arena.project, 'started')
    await arena.open(agent, {
      answers: [{ blocks: [agent.command(`sh -c 'sleep 600 & touch ${started}; sleep 600'`)] }, 'never said'],
    })
    const { trace, told, session } = await killed(agent, { until: () => fileAppears(started) })
    const events: UIEvent[] = []
    for await (const event of arena.harness.adoptTurn?.(session, trace) ?? []) {
      if (event.type === 'tool:start') arena.harness[way](session.id)
      events.push(event)
    }
    expectSame(events, told)
    const reason = way === 'kill' ? 'killed' : 'interrupted'
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason }])
    expect(await findByMarker(arena.marker)).toEqual([])
  })
})

describe.each(named(oneOfEach))('%s, when', (_name, agent) => {
  test('the spool is gone: a word about it, and the agent is stopped', async () => {
    await arena.open(agent, { answers: [STALLING] })
    const { trace, session } = await killed(agent)
    for (const { spoolPath } of trace.processes) rmSync(spoolPath)
    const events = await arena.adopt(session, trace)
    expect(events.map(({ type }) => type)).toEqual([
      'turn:start',
      'session:error',
      'turn:end',
      'process:exit',
    ])
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'process_crashed', error: expect.stringContaining('is gone') },
    ])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'crashed' }])
    expect(await findByMarker(arena.marker)).toEqual([])
  })

  test('the agent never ran: the message is not sent again by itself', async () => {
    await arena.open(agent, { answers: [] })
    const trace = { turnId: 't', startedAt: '', message: 'Hi', processes: [] }
    const events = await arena.adopt(arena.session(), trace)
    expect(ofType(events, 'session:error')).toMatchObject([
      { code: 'process_crashed', error: expect.stringContaining('Send the message again') },
    ])
    expect(ofType(events, 'turn:end')).toMatchObject([{ reason: 'crashed' }])
    expect(arena.model.requests).toEqual([])
  })
})

function named(agents: Contestant[]): (readonly [string, Contestant])[] {
  return agents.map(agent => [agent.name, agent] as const)
}

interface KillOptions {
  session?: Session
  /** The host stops there, and is killed then. */
  holdAt?: UIEvent['type']
  /** When to kill it. Default: when the model stalls. */
  until?: () => Promise<unknown>
}

interface Killed {
  session: Session
  trace: TurnTrace
  told: UIEvent[]
}

/** A turn of a host that was killed in the middle of it. */
async function killed(agent: Contestant, options: KillOptions = {}): Promise<Killed> {
  const { session = arena.session(), holdAt, until = modelStalls } = options
  const { place, model } = arena
  const opts = agent.free
  const host = hosts.start({ agent: agent.name, model, place, session, message: 'Go', opts, holdAt })
  try {
    await host.tells(({ type }) => type === (holdAt ?? 'session:init'))
    if (holdAt === undefined) await until()
  } finally {
    await host.kill()
  }
  return { session, trace: host.trace(), told: host.events }
}

function modelStalls(): Promise<unknown> {
  return arena.model.waitForRequest(({ state }) => state === 'stalled')
}

/** The new events begin with all that the killed one told. */
function expectSame(events: UIEvent[], told: UIEvent[]): void {
  expect(told.length).toBeGreaterThan(1)
  expect(timeless(events).slice(0, told.length)).toEqual(timeless(told))
  expect(ofType(events, 'turn:end')).toHaveLength(1)
}

/** How long it took is not known a second time. */
function timeless(events: UIEvent[]): UIEvent[] {
  return events.map(event => (event.type === 'turn:end' ? { ...event, durationMs: undefined } : event))
}

function notes(): string[] {
  const logs = readdirSync(path.join(arena.project, '.chirality', 'logs'), { recursive: true })
  return logs.map(String).filter(name => name.endsWith('.notes'))
}
