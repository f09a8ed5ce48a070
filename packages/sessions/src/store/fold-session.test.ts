import {
  type Envelope,
  foldSummary,
  initialSessionState,
  newSummary,
  reduceSession,
  type SessionState,
  type SessionSummary,
  stateAfter,
  type UIEvent,
} from '@chirality/core'
import { fixtureCases, readGolden } from '@chirality/fixtures'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { notice, turnEnd } from '../log/turn-events.ts'
import { SessionView } from '../status/session-view.ts'
import { SessionFold } from './fold-session.ts'
import { formatSession, newSession, parseSession, type StoredSession } from './stored-session.ts'

const id = 'session'
const place = { id, projectRoot: '/project' }
const createdAt = '2026-01-01T00:00:00.000Z'
const empty = () => newSession({ ...place, persona: null, mode: 'direct', createdAt })

describe.each(
  fixtureCases().map(fixture => [`${fixture.harness} ${fixture.version} ${fixture.name}`, fixture]),
)('%s', (_name, fixture) => {
  const log = logOf(eventsOf(fixture))

  test('folds to the same one by one, in batches, as a whole and from what was stored in the middle', () => {
    expectSameFolds(log, Math.max(1, Math.floor(log.length / 4)))
  })

  test('has one cost, condition and list of requests in the store, the host and the dashboard', () => {
    expectSameViews(log)
  })
})

test('any log folds to the same one by one, in batches, as a whole and from what was stored in the middle', () => {
  fc.assert(
    fc.property(fc.array(anyEvent(), { maxLength: 40 }), fc.integer({ min: 1, max: 9 }), (events, step) => {
      expectSameFolds(envelopesOf(events), step)
    }),
    { numRuns: 60 },
  )
})

test('the cost of a session never falls, and its turns add up to it', () => {
  fc.assert(
    fc.property(fc.array(anyEvent({ forks: false }), { maxLength: 40 }), events => {
      const log = envelopesOf([{ type: 'turn:start', sessionId: id, message: 'Go' }, ...events])
      let before = newSummary(id)
      for (const envelope of log) {
        const after = foldSummary(before, [envelope])
        expect(after.costUsd ?? 0).toBeGreaterThanOrEqual(before.costUsd ?? 0)
        expect(after.tokens).toBeGreaterThanOrEqual(before.tokens)
        before = after
      }
      const { turns, costUsd } = whole(log)
      const sum = turns.reduce((usd, turn) => usd + (turn.costUsd ?? 0), 0)
      expect(sum).toBeCloseTo(costUsd ?? 0, 6)
    }),
  )
})

test('a request that was open when the session was stored is still open after it is read again', () => {
  const log = envelopesOf([
    { type: 'turn:start', sessionId: id, message: 'Go' },
    asks('a'),
    asks('b'),
    resolves('a'),
  ])
  const fold = new SessionFold(stored(new SessionFold(empty()).add(log.slice(0, 3))))
  expect(fold.summary.pending.map(({ requestId }) => requestId)).toEqual(['a', 'b'])
  fold.add(log.slice(3))
  expect(fold.session).toMatchObject({ status: 'waiting', progress: { pending: [asks('b')] } })
})

test('the plan of the agent is known from its tool or its status, also after the session was stored', () => {
  const plan = (text: string) => [{ text, state: 'active' as const }]
  const facts = (text: string) => ({ kind: 'think' as const, label: 'Plan', object: '', todos: plan(text) })
  const log = envelopesOf([
    { type: 'turn:start', sessionId: id, message: 'Go' },
    { type: 'tool:start', sessionId: id, toolUseId: 't', name: 'TodoWrite', input: {}, facts: facts('One') },
    {
      type: 'tool:start',
      sessionId: id,
      toolUseId: 'u',
      name: 'TodoWrite',
      input: {},
      facts: facts('Of a sub-agent'),
      parentToolUseId: 't',
    },
    { type: 'status', sessionId: id, status: 'notice', message: '', level: 'info', todos: plan('Two') },
  ])
  const fold = new SessionFold(stored(new SessionFold(empty()).add(log.slice(0, 3))))
  expect(fold.summary.todos).toEqual(plan('One'))
  expect(fold.add(log).summary.todos).toEqual(plan('Two'))
})

test.each([
  ['completed', 'done'],
  ['interrupted', 'stopped'],
  ['killed', 'stopped'],
  ['failed', 'failed'],
  ['crashed', 'crashed'],
  ['timeout', 'limit'],
  ['max_turns', 'limit'],
  ['budget', 'limit'],
] as const)('a turn that ended as %s leaves the session %s', (reason, condition) => {
  const log = envelopesOf([
    { type: 'turn:start', sessionId: id, message: 'Go' },
    asks('a'),
    turnEnd(id, reason),
  ])
  expect(new SessionFold(empty()).add(log).summary).toMatchObject({ condition, phase: 'idle', pending: [] })
})

test.each([
  ['nothing', undefined],
  ['a list', []],
  ['rubbish', { turn: 5, pending: [{ type: 'permission:request' }, 3], usage: 'x', activity: [], error: {} }],
])('a stored session whose progress is %s is read as one without', (_what, progress) => {
  const text = JSON.stringify({ ...empty(), lastTurn: 'failed', progress })
  const session = parseSession(text, place)
  expect(session?.progress).toMatchObject({ pending: [], activity: null, error: null, lastLine: null })
  expect(session && new SessionFold(session).summary).toMatchObject({ condition: 'failed', pending: [] })
})

/** Everything that is not an item of the transcript. */
function summaryIn({ items: _items, live: _live, turns: _turns, ...summary }: SessionState): SessionSummary {
  return summary
}

function whole(log: readonly Envelope[]): SessionState {
  return reduceSession(initialSessionState(id), log)
}

function expectSameFolds(log: Envelope[], step: number): void {
  const state = whole(log)
  const summary = summaryIn(state)
  expect(foldSummary(newSummary(id), log)).toEqual(summary)
  expect(log.reduce((before, envelope) => foldSummary(before, [envelope]), newSummary(id))).toEqual(summary)
  expect(log.reduce((before, envelope) => reduceSession(before, envelope), initialSessionState(id))).toEqual(
    state,
  )
  const session = new SessionFold(empty()).add(log).session
  for (let at = 0; at <= log.length; at += step) {
    // The ranges overlap on purpose.
    const [first, rest] = [log.slice(0, at), log.slice(Math.max(0, at - 2))]
    const middle = foldSummary(newSummary(id), first)
    expect(foldSummary(JSON.parse(JSON.stringify(middle)), rest)).toEqual(summary)
    expect(summaryIn(reduceSession(stateAfter(middle), rest))).toEqual(summary)
    expect(reduceSession(whole(first), rest)).toEqual(state)
    expect(new SessionFold(stored(new SessionFold(empty()).add(first))).add(rest).session).toEqual(session)
  }
}

/** Writes the session to its file and reads it again. */
function stored(fold: SessionFold): StoredSession {
  const session = parseSession(formatSession(fold.session), place)
  if (session === undefined) throw new Error('the stored session cannot be read')
  return session
}

function expectSameViews(log: Envelope[]): void {
  const fold = new SessionFold(empty())
  const view = new SessionView(empty(), { onChange: () => {} })
  let state = initialSessionState(id)
  for (const envelope of log) {
    if (envelope.event.type === 'turn:start') view.begin(envelope.turnId ?? '')
    view.note([envelope])
    if (envelope.event.type === 'turn:end') view.settled()
    fold.add([envelope])
    state = reduceSession(state, envelope)
    const { costUsd, costIsEstimate, tokens, condition, lastLine } = state
    const shown = { costUsd, costIsEstimate, tokens, condition, lastLine }
    expect(view.facts).toMatchObject({ ...shown, pending: state.pending })
    expect(fold.summary).toMatchObject(shown)
    expect(fold.session).toMatchObject({ costUsd, costIsEstimate, tokens, progress: { lastLine } })
    const spends = state.spends ?? []
    expect(spends.reduce((sum, { usd }) => sum + usd, 0)).toBeCloseTo(costUsd ?? 0, 6)
    expect(spends.reduce((sum, spend) => sum + spend.tokens, 0)).toBe(tokens)
  }
  expect(state.turns.at(-1)).toMatchObject({
    costUsd: view.turnCost.usd,
    costIsEstimate: view.turnCost.isEstimate,
  })
}

/** Long texts of a golden file are replaced by a letter. */
function eventsOf(fixture: ReturnType<typeof fixtureCases>[number]): UIEvent[] {
  const shorten = (_key: string, value: unknown) =>
    typeof value === 'object' && value !== null && '$text' in value ? 'x' : value
  return JSON.parse(JSON.stringify(readGolden(fixture)), shorten) as UIEvent[]
}

/** The same run twice, as two turns of a session. */
function logOf(said: UIEvent[]): Envelope[] {
  const events = said.filter(({ type }) => type !== 'turn:start' && type !== 'turn:end')
  const failed = events.some(event => event.type === 'session:error' && !event.recovered)
  const turns = ['turn-1', 'turn-2'].map(turnId => ({
    turnId,
    events: [
      { type: 'turn:start', sessionId: id, message: `Do ${turnId}.` } as const,
      ...events,
      turnEnd(id, failed ? 'failed' : 'completed'),
    ],
  }))
  return envelopesOf(
    turns.flatMap(turn => turn.events),
    turns.flatMap(turn => turn.events.map(() => turn.turnId)),
  )
}

function envelopesOf(events: readonly UIEvent[], turnIds: readonly string[] = []): Envelope[] {
  return events.map((event, i) => ({
    seq: i + 1,
    at: new Date(Date.parse(createdAt) + i * 250).toISOString(),
    sessionId: id,
    turnId: turnIds[i] ?? 'turn',
    event: { ...event, sessionId: id },
  }))
}

function asks(requestId: string): UIEvent {
  return {
    type: 'permission:request',
    sessionId: id,
    requestId,
    kind: 'tool',
    toolName: 'Bash',
    input: { command: 'ls' },
    raw: null,
  }
}

function resolves(requestId: string): UIEvent {
  return { type: 'permission:resolved', sessionId: id, requestId, outcome: 'allowed', by: 'person' }
}

function anyEvent({ forks = true } = {}): fc.Arbitrary<UIEvent> {
  const requestId = fc.constantFrom('a', 'b', 'c')
  const tokens = fc.integer({ min: 0, max: 100_000 })
  const usage = fc.record({ input_tokens: tokens, output_tokens: tokens })
  const sessionId = id
  const events: fc.Arbitrary<UIEvent>[] = [
    fc.constant({ type: 'turn:start', sessionId, message: 'Go on' }),
    fc.constantFrom('completed', 'failed', 'crashed', 'budget').map(reason => turnEnd(sessionId, reason)),
    requestId.map(asks),
    requestId.map(resolves),
    fc.constantFrom('claude-sonnet-5', 'no-such-model').map(model => ({
      type: 'session:init',
      sessionId,
      claudeSessionId: 'native',
      model,
      tools: [],
    })),
    usage.map(spent => ({ type: 'usage', sessionId, usage: spent })),
    fc
      .record({ usage, usd: fc.option(fc.double({ min: 0, max: 2, noNaN: true })) })
      .map(({ usd, ...rest }) => ({
        type: 'session:complete',
        sessionId,
        ...rest,
        ...(usd === null ? {} : { costUsd: usd }),
      })),
    fc.constant({ type: 'session:error', sessionId, error: 'Too many requests.', code: 'rate_limited' }),
    fc.constant({ type: 'chat:message', sessionId, messageId: 'm', text: 'Said.' }),
    fc.constant({ type: 'chat:delta', sessionId, messageId: 'm', text: 'Sa' }),
    fc.constantFrom('requesting', 'compacting').map(status => ({
      type: 'status',
      sessionId,
      status,
      message: '',
      level: 'info',
    })),
    fc.constant({ type: 'log:gap', sessionId, afterSeq: 1, missing: 2, reason: 'damaged' }),
    fc.constant(notice(sessionId, 'Nobody answered.', { stoppedUnanswered: true })),
  ]
  if (forks)
    events.push(fc.constant(notice(sessionId, 'A fork.', { forkedFrom: { sessionId: 'other', seq: 3 } })))
  return fc.oneof(...events)
}
