import { mkdirSync, readdirSync } from 'node:fs'
import { HarnessError, type TurnEndReason, type UIEvent } from '@chirality/core'
import { type EndingTurn, TurnChanges } from '@chirality/workspaces'
import { expect, test } from 'vitest'
import type { SessionHostOptions } from '../../src/host/host-options.ts'
import { readSessionLog } from '../../src/log/read-log.ts'
import { envelopesOf, eventsOf, typesOf, untilEvent, useHostWorld } from '../support/host-world.ts'
import { answers, init, ScriptedHarness, type TurnScript, waits } from '../support/scripted-harness.ts'

const world = useHostWorld()

const open = (...scripts: TurnScript[]) => openWith({}, ...scripts)

async function openWith(options: Partial<SessionHostOptions>, ...scripts: TurnScript[]) {
  const harness = new ScriptedHarness(scripts)
  const host = world.host([harness], options)
  const { id } = await host.createSession(world.project)
  return { host, harness, session: await host.session(id) }
}

function ends(events: UIEvent[]): TurnEndReason[] {
  return events.flatMap(event => (event.type === 'turn:end' ? [event.reason] : []))
}

const start: (sessionId: string, message: string) => UIEvent = (sessionId, message) => ({
  type: 'turn:start',
  sessionId,
  message,
})

test.each<[string, TurnScript, TurnEndReason]>([
  [
    'throws mid-stream',
    async function* ({ session, message }) {
      yield start(session.id, message)
      yield { type: 'chat:delta', sessionId: session.id, text: 'Hel' }
      throw new Error('the pipe broke')
    },
    'crashed',
  ],
  [
    'ends without turn:end',
    async function* ({ session, message }) {
      yield start(session.id, message)
      yield { type: 'usage', sessionId: session.id, usage: { input_tokens: 1, output_tokens: 1 } }
    },
    'crashed',
  ],
  [
    'ends twice',
    async function* ({ session, message }) {
      yield start(session.id, message)
      yield { type: 'turn:end', sessionId: session.id, reason: 'completed' }
      yield { type: 'turn:end', sessionId: session.id, reason: 'failed' }
    },
    'completed',
  ],
  [
    'begins twice',
    async function* ({ session, message }) {
      yield start(session.id, message)
      yield start(session.id, message)
      yield { type: 'turn:end', sessionId: session.id, reason: 'completed' }
    },
    'completed',
  ],
])('a harness that %s: one turn:start, one turn:end', async (_name, script, reason) => {
  const told: { isEnded: boolean; isLate: boolean }[] = []
  class SlowChanges extends TurnChanges {
    override async end({ isLate }: EndingTurn) {
      await new Promise(resolve => setImmediate(resolve))
      told.push({ isEnded: ends(eventsOf(session)).length > 0, isLate })
      return 'A warning.'
    }
  }
  const { session, host } = await openWith({ changes: new SlowChanges() }, script)
  await session.start('Go')
  await session.settled()
  const events = eventsOf(session)
  // Nobody is told of the end before this is over.
  expect(told).toEqual([{ isEnded: false, isLate: false }])
  expect(events).toContainEqual(expect.objectContaining({ type: 'status', message: 'A warning.' }))
  expect(ends(events)).toEqual([reason])
  expect(events.filter(({ type }) => type === 'turn:start')).toHaveLength(1)
  expect(session.status).toMatchObject({ phase: 'idle', lastTurn: reason })
  expect((await host.store.resume(session.id)).status).toBe('idle')
  expect(readdirSync(world.file('state', 'turns'))).toEqual([])
  if (reason === 'crashed') {
    expect(events.at(-3)).toMatchObject({ type: 'session:error', code: 'process_crashed' })
  }
  await session.start('Again')
  await session.settled()
  expect(ends(eventsOf(session))).toEqual([reason, 'completed'])
  expect(told).toHaveLength(2)
})

test.each<[string, TurnScript, string]>([
  [
    'throws',
    // biome-ignore lint/correctness/useYield: it never gets that far
    async function* () {
      throw new HarnessError('Install it.', 'not_installed', 'scripted')
    },
    'not_installed',
  ],
  ['is silent', async function* () {}, 'unknown'],
  [
    'does not begin at the beginning',
    async function* ({ session }) {
      yield init(session.id)
    },
    'unknown',
  ],
])('a harness that %s before the start: an error, and nothing in the log', async (_name, script, code) => {
  const { session } = await open(script)
  await expect(session.start('Go')).rejects.toMatchObject({ code })
  expect(eventsOf(session)).toEqual([])
  expect(session.status).toMatchObject({ phase: 'idle', turnId: null })
  expect(readdirSync(world.file('state', 'turns'))).toEqual([])
  await session.start('Now')
  await session.settled()
  expect(session.status.lastTurn).toBe('completed')
})

test('an unknown persona, harness or budget stops nothing but the start', async () => {
  const { host } = await open()
  const nobody = host.createSession(world.project, { persona: 'NOBODY' })
  await expect(nobody).rejects.toMatchObject({ code: 'persona' })
  expect(await host.store.list(world.project)).toHaveLength(1)
  // One that was there when the session was made, and is gone since.
  const missing = await host.store.create(world.project, 'NOBODY', 'direct')
  const session = await host.session(missing.id)
  await expect(session.start('Go')).rejects.toMatchObject({ code: 'persona' })
  const other = await host.session((await host.createSession(world.project, { harness: 'codex' })).id)
  await expect(other.start('Go')).rejects.toMatchObject({ code: 'invalid_query' })
  expect(other.status.phase).toBe('idle')
})

test('one turn at a time: a second start is refused while one runs', async () => {
  const { session } = await open(waits())
  await session.start('Go')
  await expect(session.start('Me too')).rejects.toMatchObject({ code: 'busy' })
  session.interrupt()
  await session.settled()
  expect(ends(eventsOf(session))).toEqual(['interrupted'])
})

test('two simultaneous starts run one turn', async () => {
  const { session, harness } = await open()
  const results = await Promise.allSettled([session.start('One'), session.start('Two')])
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  await session.settled()
  expect(harness.turns).toHaveLength(1)
})

test('kill resolves when nothing runs any more', async () => {
  const { session, harness } = await open(waits())
  await session.start('Go')
  await session.kill()
  expect(harness.isRunning(session.id)).toBe(false)
  expect(session.status).toMatchObject({ phase: 'idle', lastTurn: 'killed' })
})

test('a turn that is interrupted while it starts ends as interrupted', async () => {
  const { session } = await open(waits())
  const starting = session.start('Go')
  session.interrupt()
  await starting
  await session.settled()
  expect(ends(eventsOf(session))).toEqual(['interrupted'])
})

test('the caller’s signal and its timeout stop the turn', async () => {
  const { session } = await open(waits(), waits())
  const controller = new AbortController()
  await session.start('Go', { signal: controller.signal })
  controller.abort()
  await session.settled()
  await session.start('Go', { timeoutMs: 1 })
  await session.settled()
  expect(ends(eventsOf(session))).toHaveLength(2)
})

test('a closed host has ended its turns, and leaves them ended in the log', async () => {
  const { session, host } = await open(waits())
  await session.start('Go')
  await host.close()
  const log = await readSessionLog(world.project, session.id)
  const events = log?.readAfter(0, 100).map(({ event }) => event) ?? []
  log?.close()
  expect(ends(events)).toEqual(['interrupted'])
  await expect(session.start('More')).rejects.toMatchObject({ code: 'closed' })
})

test('a session that is deleted in a turn is stopped first, and gone', async () => {
  const { session, host, harness } = await open(waits())
  await session.start('Go')
  await host.deleteSession(session.id)
  expect(harness.isRunning(session.id)).toBe(false)
  await expect(host.session(session.id)).rejects.toMatchObject({ code: 'not-found' })
  for (const folder of ['events', 'sessions', 'state/turns'])
    expect(readdirSync(world.file(folder))).toEqual([])
})

test('unanswered requests are closed with the turn', async () => {
  const asks = (sessionId: string): UIEvent[] => [
    {
      type: 'permission:request',
      sessionId,
      requestId: 'r1',
      kind: 'tool',
      toolName: 'Bash',
      input: { command: 'ls' },
      raw: {},
    },
  ]
  const { session } = await open(waits(undefined, asks))
  await session.start('Go')
  await untilEvent(session, ({ type }) => type === 'permission:request')
  expect(session.status).toMatchObject({ phase: 'waiting', pending: [{ requestId: 'r1' }] })
  session.interrupt()
  await session.settled()
  const types = typesOf(session)
  expect(types.indexOf('permission:resolved')).toBeLessThan(types.indexOf('turn:end'))
  expect(eventsOf(session)).toContainEqual(
    expect.objectContaining({ type: 'permission:resolved', outcome: 'cancelled', by: 'turn-end' }),
  )
  expect(session.status.pending).toEqual([])
})

test('every event of a turn has its id', async () => {
  const { session } = await open(answers('Hello.'))
  const { turnId } = await session.start('Go')
  await session.settled()
  expect(new Set(envelopesOf(session).map(envelope => envelope.turnId))).toEqual(new Set([turnId]))
})

test('a folder in place of the log causes an error before the start', async () => {
  const { host } = await open()
  const { id } = await host.createSession(world.project)
  mkdirSync(world.file('events'), { recursive: true })
  mkdirSync(world.file('events', `${id}.ndjson`))
  await expect(host.session(id)).rejects.toMatchObject({ name: 'StorageError' })
})
