import { existsSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { realFileOps } from '@chirality/disk'
import { expect, test } from 'vitest'
import { openSessionLog } from '../../src/log/open-logs.ts'
import { SessionFold } from '../../src/store/fold-session.ts'
import { SessionStore } from '../../src/store/session-store.ts'
import { eventsOf, untilEvent, useHostWorld } from '../support/host-world.ts'
import { answers, init, ScriptedHarness, type TurnScript, waits } from '../support/scripted-harness.ts'

const world = useHostWorld()

/** A log on a disk that can be filled and freed. */
async function openOnDisk(script: TurnScript) {
  const disk = { full: false }
  const write: typeof realFileOps.write = (fd, bytes) => {
    if (disk.full) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
    return realFileOps.write(fd, bytes)
  }
  const harness = new ScriptedHarness([script])
  const host = world.host([harness])
  const { id } = await host.createSession(world.project)
  const ops = { ...realFileOps, write }
  const log = await openSessionLog(world.project, id, { ops, retryDelayMs: 1 })
  world.atEnd(() => log.close())
  return { disk, harness, host, session: await host.session(id) }
}

function talks(go: Promise<void>): TurnScript {
  return async function* ({ session: { id: sessionId }, message, stopped }) {
    yield { type: 'turn:start', sessionId, message }
    yield init(sessionId)
    await go
    for (const messageId of ['m1', 'm2', 'm3'])
      yield { type: 'chat:message', sessionId, messageId, text: messageId }
    await stopped
    yield { type: 'turn:end', sessionId, reason: 'interrupted' }
  }
}

test('a full disk holds a turn up; with space again it goes on and has lost nothing', async () => {
  let go = () => {}
  const { disk, session } = await openOnDisk(talks(new Promise(resolve => (go = resolve))))
  await session.start('Go')
  await untilEvent(session, ({ type }) => type === 'session:init')
  const paused = new Promise<void>(resolve => {
    session.log.onHealth(({ state }) => state === 'paused' && resolve())
  })
  disk.full = true
  go()
  await paused
  expect(session.status).toMatchObject({ logHealth: 'paused', phase: 'running' })
  await session.kill()
  disk.full = false
  await session.settled()
  const types = eventsOf(session).map(({ type }) => type)
  expect(types.filter(type => type === 'chat:message')).toHaveLength(3)
  expect(types.filter(type => type === 'turn:end')).toHaveLength(1)
})

test('a turn whose end the log cannot store has not settled, and its record stays until it is stored', async () => {
  const ends: TurnScript = async function* ({ session: { id: sessionId }, message }) {
    yield { type: 'turn:start', sessionId, message }
    yield init(sessionId)
    yield { type: 'session:error', sessionId, error: 'The agent is gone.', code: 'unknown' }
    // The last line that fits is the error.
    disk.full = true
    yield { type: 'turn:end', sessionId, reason: 'crashed' }
  }
  const { disk, session } = await openOnDisk(ends)
  const paused = new Promise<void>(resolve => {
    session.log.onHealth(({ state }) => state === 'paused' && resolve())
  })
  await session.start('Go')
  await paused
  let hasSettled = false
  const settled = session.settled().then(() => {
    hasSettled = true
  })
  // It is tried again every millisecond.
  for (let i = 0; i < 20; i++) await new Promise(resolve => setTimeout(resolve, 1))
  expect(hasSettled).toBe(false)
  expect(session.status).toMatchObject({ logHealth: 'paused', phase: 'ending' })
  const record = world.file('state', 'turns', `${session.id}.json`)
  expect(existsSync(record)).toBe(true)
  disk.full = false
  await settled
  expect(eventsOf(session).filter(({ type }) => type === 'turn:end')).toHaveLength(1)
  expect(session.status).toMatchObject({ logHealth: 'ok', phase: 'idle', lastTurn: 'crashed' })
  expect(existsSync(record)).toBe(false)
})

test('a host that leaves with a full disk does not wait for it, and stops no agent', async () => {
  let go = () => {}
  const { disk, host, session, harness } = await openOnDisk(talks(new Promise(resolve => (go = resolve))))
  await session.start('Go')
  await untilEvent(session, ({ type }) => type === 'session:init')
  const paused = new Promise<void>(resolve => {
    session.log.onHealth(({ state }) => state === 'paused' && resolve())
  })
  disk.full = true
  go()
  await paused
  await host.close({ agents: 'leave' })
  expect(harness.isRunning(session.id)).toBe(true)
  expect(existsSync(world.file('state', 'turns', `${session.id}.json`))).toBe(true)
  disk.full = false
  await session.log.whenWritable()
})

test('a host closes with a full disk, and the next one records how the turn ended', async () => {
  let go = () => {}
  const { disk, host, session } = await openOnDisk(talks(new Promise(resolve => (go = resolve))))
  await session.start('Go')
  await untilEvent(session, ({ type }) => type === 'session:init')
  const paused = new Promise<void>(resolve => {
    session.log.onHealth(({ state }) => state === 'paused' && resolve())
  })
  disk.full = true
  go()
  await paused
  await host.close()
  disk.full = false
  await expect(session.start('More')).rejects.toMatchObject({ code: 'closed' })
  expect(existsSync(world.file('state', 'turns', `${session.id}.json`))).toBe(true)
  const next = world.host([new ScriptedHarness([])])
  expect((await next.openProject(world.project)).closed).toEqual([session.id])
  const again = await next.session(session.id)
  expect(again.status).toMatchObject({ phase: 'idle', lastTurn: 'crashed' })
  expect(eventsOf(again).filter(({ type }) => type === 'turn:end')).toHaveLength(1)
})

test('a turn that is just being started is not lost by a host that leaves', async () => {
  let go = () => {}
  const gate = new Promise<void>(resolve => (go = resolve))
  let stopped = false
  const slow: TurnScript = async function* ({ session: { id: sessionId }, message, stopped: stop }) {
    void stop.then(() => (stopped = true))
    await gate
    yield { type: 'turn:start', sessionId, message }
    await stop
    yield { type: 'turn:end', sessionId, reason: 'interrupted' }
  }
  const harness = new ScriptedHarness([slow])
  const host = world.host([harness])
  const session = await host.session((await host.createSession(world.project)).id)
  const starting = session.start('Go')
  while (harness.turns.length === 0) await new Promise(setImmediate)
  const closing = host.close({ agents: 'leave' })
  go()
  await closing
  await starting
  expect(stopped).toBe(false)
  expect(existsSync(world.file('state', 'turns', `${session.id}.json`))).toBe(true)
})

test('to open a project sends nothing: what waited there waits for a person', async () => {
  const first = world.host([new ScriptedHarness([answers('One.')])])
  const { id } = await first.createSession(world.project)
  const session = await first.session(id)
  await session.start('One')
  await session.settled()
  await first.close()
  const queued = { id: 'q-1', message: 'Two', queuedAt: '2026-01-01T00:00:00.000Z', request: {} }
  await mkdir(world.file('state', 'queue'), { recursive: true })
  const state = { held: false, sending: null, messages: [queued] }
  writeFileSync(world.file('state', 'queue', `${id}.json`), JSON.stringify(state))
  const harness = new ScriptedHarness([waits()])
  const host = world.host([harness])
  await host.openProject(world.project)
  expect((await host.session(id)).status).toMatchObject({ queueHeld: true, queue: [{ message: 'Two' }] })
  expect(harness.turns).toEqual([])
})

test.each([
  ['before the turn', false],
  // As the host does when somebody deleted its files meanwhile.
  ['while its agent waited for an answer', true],
])(
  'an unfinished turn without a trace is closed when its session is opened, stored %s',
  async (_when, midTurn) => {
    const host = world.host([new ScriptedHarness([])])
    const { id } = await host.createSession(world.project)
    await host.close()
    const log = await openSessionLog(world.project, id)
    log.append({ type: 'turn:start', sessionId: id, message: 'Go' }, { turnId: 't1' })
    const request = {
      type: 'permission:request' as const,
      sessionId: id,
      requestId: 'r1',
      kind: 'tool' as const,
      toolName: 'Bash',
      input: {},
      raw: {},
    }
    log.append(request, { turnId: 't1' })
    await log.flush()
    if (midTurn) {
      const store = new SessionStore({ home: world.data })
      await store.save(new SessionFold(await store.resume(id)).add(log.readAfter(0, 10)).session)
    }
    await log.close()
    const next = world.host([new ScriptedHarness([])])
    await next.openProject(world.project)
    const session = await next.session(id)
    expect(eventsOf(session).slice(2)).toMatchObject([
      {
        type: 'status',
        level: 'warn',
        message: expect.stringContaining('waited for an answer (Asks for Bash)'),
      },
      { type: 'permission:resolved', outcome: 'cancelled', by: 'turn-end' },
      {
        type: 'session:error',
        code: 'process_crashed',
        error: expect.stringContaining('Chirality was stopped'),
      },
      { type: 'turn:end', reason: 'crashed' },
    ])
    expect(session.status).toMatchObject({ phase: 'idle', lastTurn: 'crashed', pending: [] })
  },
)

test('a host that is being closed opens nothing any more', async () => {
  const host = world.host([new ScriptedHarness([])])
  const { id } = await host.createSession(world.project)
  const closing = host.close()
  await expect(host.session(id)).rejects.toMatchObject({ code: 'closed' })
  await closing
  await expect(host.openProject(world.project)).rejects.toMatchObject({ code: 'closed' })
  const next = world.host([new ScriptedHarness([])])
  await next.openProject(world.project)
})

test('kill waits for the agent also while the log can take nothing', async () => {
  let go = () => {}
  const { disk, session, harness } = await openOnDisk(talks(new Promise(resolve => (go = resolve))))
  let gone = () => {}
  harness.kill = () => new Promise<void>(resolve => (gone = resolve))
  await session.start('Go')
  const paused = new Promise<void>(resolve => {
    session.log.onHealth(({ state }) => state === 'paused' && resolve())
  })
  disk.full = true
  go()
  await paused
  let isKilled = false
  const killing = session.kill().then(() => {
    isKilled = true
  })
  await new Promise(setImmediate)
  expect(isKilled).toBe(false)
  gone()
  await killing
  expect(session.status.logHealth).toBe('paused')
  disk.full = false
  session.interrupt()
  await session.settled()
})
