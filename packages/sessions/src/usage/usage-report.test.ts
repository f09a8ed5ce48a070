import { readFileSync, writeFileSync } from 'node:fs'
import { type Envelope, NO_COST, type UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { useProject } from '../../test/support/project.ts'
import { useStore } from '../../test/support/store.ts'
import type { SessionStore } from '../store/session-store.ts'
import { type UsageOptions, usageReport } from './usage-report.ts'

const project = useProject()
const stores = useStore()

const NOW = new Date('2026-11-17T09:20:00.000Z')
const SONNET = 'claude-sonnet-4-5'
const TOKENS_PER_USD = 1_000_000 / 3

const report = (store: SessionStore, options: Partial<UsageOptions> = {}) =>
  usageReport(
    { store, openSession: () => undefined },
    { projectRoots: [project.root], timeZone: 'UTC', days: 7, now: NOW, ...options },
  )

test('a day is a day of the user: what was spent at one instant is yesterday in one zone and today in another', async () => {
  const store = stores.open()
  await add(store, 'a', [['2026-11-16T23:50:00.000Z', 1]])
  const dayIn = async (timeZone: string) => (await report(store, { timeZone })).rows.map(row => row.time)
  expect(await dayIn('UTC')).toEqual(['2026-11-16'])
  expect(await dayIn('Asia/Kathmandu')).toEqual(['2026-11-17'])
  expect(await dayIn('America/New_York')).toEqual(['2026-11-16'])
})

test('every day of the period is there, also without rows, and nothing from before it', async () => {
  const store = stores.open()
  await add(store, 'a', [
    ['2026-11-10T23:59:00.000Z', 8],
    ['2026-11-11T00:00:00.000Z', 1],
    ['2026-11-17T09:00:00.000Z', 2],
  ])
  const week = await report(store)
  expect(week.times).toHaveLength(7)
  expect([week.times[0], week.times.at(-1)]).toEqual(['2026-11-11', '2026-11-17'])
  expect(week.rows.map(({ time, usd }) => [time, usd])).toEqual([
    ['2026-11-11', 1],
    ['2026-11-17', 2],
  ])
  expect(week.sessions).toMatchObject([{ sessionId: 'a', usd: 3 }])
})

test('one day is by hours', async () => {
  const store = stores.open()
  await add(store, 'a', [['2026-11-17T09:05:00.000Z', 1]])
  const today = await report(store, { days: 1 })
  expect(today.times).toHaveLength(24)
  expect(today.rows).toMatchObject([{ time: '2026-11-17T09', usd: 1 }])
})

test('the rows add up to the cost of the sessions, and a fork does not count what it copied', async () => {
  const store = stores.open()
  await add(store, 'a', [
    ['2026-11-16T10:00:00.000Z', 1],
    ['2026-11-17T08:00:00.000Z', 2],
  ])
  const fork = await store.fork('a')
  expect(fork.turnCount).toBe(2)
  const { rows, sessionCount } = await report(store)
  expect(rows.reduce((sum, { usd }) => sum + usd, 0)).toBe(3)
  expect(rows.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(3 * TOKENS_PER_USD)
  expect(sessionCount).toBe(1)
})

test('a deleted session is in no sum, and the report says what it was', async () => {
  const store = stores.open()
  await add(store, 'a', [['2026-11-16T10:00:00.000Z', 1]])
  await add(store, 'b', [['2026-11-16T10:00:00.000Z', 2]])
  await store.delete('b')
  await store.delete('b')
  const { rows, deleted } = await report(store)
  expect(rows).toMatchObject([{ usd: 1 }])
  expect(deleted).toEqual({ sessions: 1, usd: 2, tokens: 2 * TOKENS_PER_USD })
  expect((await report(store, { days: 1 })).deleted.sessions).toBe(0)
  // Nobody notices a session that never cost anything.
  const empty = await store.create(project.root, null, 'direct')
  await store.delete(empty.id)
  expect((await report(store)).deleted.sessions).toBe(1)
})

test('a session that an earlier version stored gets its days from its log, which is read once', async () => {
  const first = stores.open()
  await add(first, 'a', [
    ['2026-11-15T10:00:00.000Z', 1],
    ['2026-11-16T10:00:00.000Z', 2],
  ])
  const file = project.file('sessions', 'a.json')
  const { progress, ...session } = JSON.parse(readFileSync(file, 'utf8'))
  const { spends, ...earlier } = progress
  expect(spends).toHaveLength(2)
  writeFileSync(file, JSON.stringify({ ...session, progress: earlier }))
  const second = stores.open()
  const days = (await report(second)).rows.map(({ time, usd }) => [time, usd])
  expect(days).toEqual([
    ['2026-11-15', 1],
    ['2026-11-16', 2],
  ])
  expect(JSON.parse(readFileSync(file, 'utf8')).progress.spends).toEqual(spends)
})

test('a cost that only the user’s index knows is not lost: it counts at the last event', async () => {
  const store = stores.open()
  const session = await add(store, 'a', [['2026-11-16T10:00:00.000Z', 1]])
  const ledger = { ...NO_COST, statedUsd: 5, highUsd: 5, settledTokens: 9, highTokens: 400_000 }
  const updatedAt = '2026-11-17T08:00:00.000Z'
  await store.save({ ...session, updatedAt, ledger, costUsd: 5, tokens: 400_000 })
  const { rows } = await report(store)
  expect(rows.reduce((sum, { usd }) => sum + usd, 0)).toBe(5)
  expect(rows.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(400_000)
})

test('tokens without a price are counted and marked, and a stated cost is no estimate', async () => {
  const store = stores.open()
  await add(store, 'a', [['2026-11-16T10:00:00.000Z', 1]], { model: 'nobody-knows' })
  await add(store, 'b', [['2026-11-16T10:00:00.000Z', 1]], { stated: true })
  const { rows } = await report(store)
  expect(rows.find(({ model }) => model === 'nobody-knows')).toMatchObject({
    usd: 0,
    isEstimate: true,
    unpricedTokens: TOKENS_PER_USD,
  })
  expect(rows.find(({ model }) => model === SONNET)).toMatchObject({ usd: 1, isEstimate: false })
})

test('of each agent the newest limits are told', async () => {
  const store = stores.open()
  const limits = (usedPercent: number): UIEvent => ({
    type: 'limits',
    sessionId: '',
    windows: [{ name: '5 hours', usedPercent }],
  })
  await add(store, 'a', [['2026-11-16T10:00:00.000Z', 1]], { and: limits(10) })
  await add(store, 'b', [['2026-11-17T08:00:00.000Z', 1]], { and: limits(62) })
  await add(store, 'c', [['2026-11-17T08:30:00.000Z', 1]])
  expect((await report(store)).plans).toEqual([
    {
      harness: 'claude-code',
      at: '2026-11-17T08:00:00.000Z',
      windows: [{ name: '5 hours', usedPercent: 62 }],
    },
  ])
})

test('sessions of other machines count under their name, as far as what those told is sound', async () => {
  const store = stores.open()
  const session = await add(store, 'a', [['2026-11-16T10:00:00.000Z', 1]])
  const told = { ...session, id: 'b', title: 'theirs' }
  const liar = {
    ...session,
    id: 'c',
    costUsd: 'much',
    tokens: Number.NaN,
    progress: { ...session.progress, spends: [{ slot: 'now', usd: {} }] },
  } as unknown as typeof session
  const others = [told, liar].map(one => ({ machine: 'build-1', session: one }))
  const { rows, sessions } = await report(store, { others })
  expect(rows.map(({ machine }) => machine)).toEqual([undefined, 'build-1'])
  expect(rows.every(({ usd, tokens }) => Number.isFinite(usd) && Number.isFinite(tokens))).toBe(true)
  expect(rows[1]?.usd).toBeGreaterThanOrEqual(1)
  expect(sessions).toContainEqual(expect.objectContaining({ sessionId: 'b', machine: 'build-1', usd: 1 }))
})

test('no machine makes the sum smaller by what it tells, nor the report longer than it is', async () => {
  const store = stores.open()
  const session = await add(store, 'a', [['2026-11-16T10:00:00.000Z', 1]])
  const [spend] = session.progress.spends ?? []
  if (spend === undefined) throw new Error('nothing was spent')
  const withSpends = (spends: (typeof spend)[]) => ({
    machine: 'build-1',
    session: { ...session, id: 'b', progress: { ...session.progress, spends } },
  })
  const taken = await report(store, { others: [withSpends([{ ...spend, usd: -50, tokens: -1e9 }])] })
  expect(taken.rows.reduce((sum, { usd }) => sum + usd, 0)).toBeGreaterThanOrEqual(1)
  expect(taken.rows.every(({ usd, tokens }) => usd >= 0 && tokens >= 0)).toBe(true)

  const many = Array.from({ length: 30_000 }, (_, i) => ({ ...spend, usd: 0, tokens: 1, model: `m-${i}` }))
  const long = await report(store, { others: [withSpends(many)] })
  expect(long.rows.length).toBeLessThan(20_100)
})

interface Extras {
  model?: string
  stated?: boolean
  and?: UIEvent
}

/** A session with one turn for each time, which cost so many dollars by list price. */
async function add(store: SessionStore, id: string, turns: [string, number][], extras: Extras = {}) {
  const { model = SONNET, stated = false, and } = extras
  const events = turns.flatMap(([at, usd], turn): [string, UIEvent][] => {
    const usage = { input_tokens: usd * TOKENS_PER_USD, output_tokens: 0 }
    const init = { claudeSessionId: id, model, tools: [], harness: 'claude-code' }
    return [
      [at, { type: 'turn:start', sessionId: id, message: `Turn ${turn}` }],
      [at, { type: 'session:init', sessionId: id, ...init }],
      [at, { type: 'usage', sessionId: id, usage, model }],
      [at, { type: 'session:complete', sessionId: id, usage, ...(stated ? { costUsd: usd } : {}) }],
      ...(and === undefined ? [] : [[at, { ...and, sessionId: id }] as [string, UIEvent]]),
      [at, { type: 'turn:end', sessionId: id, reason: 'completed' }],
    ]
  })
  const envelopes = events.map(
    ([at, event], i): Envelope => ({ seq: i + 1, at, sessionId: id, turnId: `turn-${at}`, event }),
  )
  const last = turns.at(-1)?.[0] ?? ''
  return store.import({
    envelopes,
    session: {
      id,
      projectRoot: project.root,
      persona: null,
      mode: 'direct',
      claudeSessionId: id,
      createdAt: turns[0]?.[0] ?? '',
      updatedAt: last,
    },
  })
}
