import { describe, expect, test } from 'vitest'
import type { Envelope, UIEvent } from '../events/ui-event.ts'
import { reduceSession } from './reduce.ts'
import { initialSessionState, type SessionItem, type SessionState } from './state.ts'

const sessionId = 's'
const noUsage = { input_tokens: 0, output_tokens: 0 }

type Loose = UIEvent extends infer E ? (E extends UIEvent ? Omit<E, 'sessionId'> : never) : never

function envelopes(events: Loose[], turnId: string | null = 't1'): Envelope[] {
  return events.map((event, i) => ({
    seq: i + 1,
    at: new Date(Date.UTC(2026, 0, 1, 0, 0, i)).toISOString(),
    sessionId,
    turnId,
    event: { sessionId, ...event } as UIEvent,
  }))
}

function fold(events: Loose[]): SessionState {
  return reduceSession(initialSessionState(sessionId), envelopes(events))
}

const last = (state: SessionState): SessionItem | undefined => state.items.at(-1)

describe('text', () => {
  test('deltas build up beside the items and the whole message replaces them', () => {
    const open = fold([
      { type: 'turn:start', message: 'hi' },
      { type: 'chat:delta', messageId: 'm#0', text: 'Hel' },
      { type: 'chat:delta', messageId: 'm#0', text: 'lo' },
    ])
    expect(open.live['m#0']).toBe('Hello')
    expect(last(open)).toMatchObject({ kind: 'text', streaming: true, text: '' })

    const done = reduceSession(open, {
      seq: 4,
      at: '2026-01-01T00:00:09.000Z',
      sessionId,
      turnId: 't1',
      event: { type: 'chat:message', sessionId, messageId: 'm#0', text: 'Hello.' },
    })
    expect(done.live).toEqual({})
    expect(last(done)).toMatchObject({ kind: 'text', streaming: false, text: 'Hello.' })
  })

  test('a delta leaves the item list as it is, so its cost does not grow with the conversation', () => {
    const before = fold([{ type: 'chat:delta', messageId: 'a', text: '1' }])
    const after = reduceSession(before, {
      ...envelopes([{ type: 'chat:delta', messageId: 'a', text: '2' }])[0],
      seq: 2,
    } as Envelope)
    expect(after.items).toBe(before.items)
    expect(after.live.a).toBe('12')
    expect(before.live.a).toBe('1')
  })

  test('text that the agent withdrew is forgotten', () => {
    const state = fold([
      { type: 'chat:delta', messageId: 'a', text: 'half' },
      { type: 'chat:message', messageId: 'a', text: '', discarded: true },
      { type: 'chat:message', messageId: 'b', text: 'whole' },
    ])
    expect(state.items.map(item => item.kind === 'text' && item.text)).toEqual(['whole'])
    expect(state.live).toEqual({})
  })

  test('thinking that the agent withdrew is forgotten', () => {
    const state = fold([
      { type: 'chat:thinking', messageId: 't', text: 'half' },
      { type: 'chat:thinking', messageId: 't', text: '', final: true },
    ])
    expect(state.items).toEqual([])
    expect(state.live).toEqual({})
  })

  test('with and without deltas the items are the same', () => {
    const strip = (state: SessionState) => state.items.map(({ at: _at, seq: _seq, ...item }) => item)
    const whole: Loose[] = [
      { type: 'chat:thinking', messageId: 'th', text: 'hm', final: true },
      { type: 'chat:message', messageId: 'x', text: 'ab' },
    ]
    const streamed = fold([
      { type: 'chat:thinking', messageId: 'th', text: 'h' },
      { type: 'chat:thinking', messageId: 'th', text: 'm' },
      whole[0] as Loose,
      { type: 'chat:delta', messageId: 'x', text: 'a' },
      { type: 'chat:delta', messageId: 'x', text: 'b' },
      whole[1] as Loose,
    ])
    expect(strip(streamed)).toEqual(strip(fold(whole)))
  })

  test('a final answer is shown only when the turn had no text', () => {
    const repeated = fold([
      { type: 'turn:start', message: 'q' },
      { type: 'chat:message', messageId: 'a', text: 'answer' },
      { type: 'chat:complete', text: 'answer' },
    ])
    expect(repeated.items.filter(item => item.kind === 'text')).toHaveLength(1)
    const only = fold([
      { type: 'turn:start', message: '/x' },
      { type: 'chat:complete', text: 'Unknown command: /x' },
    ])
    expect(last(only)).toMatchObject({ kind: 'text', text: 'Unknown command: /x' })
  })
})

describe('tools', () => {
  test('start, input and result become one item with its duration', () => {
    const state = fold([
      { type: 'tool:start', toolUseId: 'u', name: 'Bash', input: {} },
      { type: 'tool:input', toolUseId: 'u', delta: '{"command":' },
      { type: 'tool:input', toolUseId: 'u', input: { command: 'ls' } },
      { type: 'tool:result', toolUseId: 'u', content: 'a.txt', isError: false, detail: { stdout: 'a.txt' } },
    ])
    expect(state.items).toEqual([
      expect.objectContaining({
        kind: 'tool',
        name: 'Bash',
        input: { command: 'ls' },
        status: 'done',
        content: 'a.txt',
        detail: { stdout: 'a.txt' },
        durationMs: 1000,
      }),
    ])
    expect(state.live).toEqual({})
  })

  const start = (toolUseId: string, parentToolUseId?: string): Loose => ({
    type: 'tool:start',
    toolUseId,
    name: 'Bash',
    input: { command: 'ls' },
    ...(parentToolUseId ? { parentToolUseId } : {}),
  })
  const request = (requestId: string, toolUseId: string, parentToolUseId?: string): Loose => ({
    type: 'permission:request',
    requestId,
    toolUseId,
    kind: 'tool',
    toolName: 'Bash',
    input: {},
    raw: 1,
    ...(parentToolUseId ? { parentToolUseId } : {}),
  })
  const resolved = (requestId: string, outcome: 'allowed' | 'denied'): Loose => ({
    type: 'permission:resolved',
    requestId,
    outcome,
    by: 'person',
  })
  const quiet: Loose = { type: 'status', status: 'requesting', message: '', level: 'info' }
  const result = (toolUseId: string, isError = false, detail?: unknown): Loose => ({
    type: 'tool:result',
    toolUseId,
    content: '',
    isError,
    ...(detail ? { detail } : {}),
  })
  const durations = (state: SessionState) =>
    Object.fromEntries(
      state.items.flatMap(item => (item.kind === 'tool' ? [[item.id, item.durationMs]] : [])),
    )

  test('E25: what a person took to decide is not the time of the tool', () => {
    const asked = [start('u'), quiet, request('r', 'u'), quiet, quiet, quiet, resolved('r', 'allowed'), quiet]
    expect(durations(fold([...asked, result('u')]))).toEqual({ u: 2000 })
    // A second request in the middle of the run: only the second wait is subtracted from the time since the first.
    const again = [...asked, request('r2', 'u'), quiet, resolved('r2', 'allowed'), result('u')]
    expect(durations(fold(again))).toEqual({ u: 3000 })
  })

  test('E25: a call that was denied took no time, and one that fails after it was allowed took its own', () => {
    const ask = [start('u'), request('r', 'u'), quiet]
    expect(durations(fold([...ask, resolved('r', 'denied'), result('u', true)]))).toEqual({ u: null })
    expect(durations(fold([...ask, resolved('r', 'allowed'), result('u', true)]))).toEqual({ u: 1000 })
  })

  test('E25: a sub-agent does not run while one of its calls waits for a person', () => {
    const asked = [start('agent'), start('a', 'agent'), start('b', 'agent')]
    const both = [request('ra', 'a', 'agent'), request('rb', 'b', 'agent'), quiet]
    const answers = [resolved('ra', 'allowed'), result('a'), resolved('rb', 'allowed'), result('b')]
    const state = fold([...asked, ...both, ...answers, result('agent')])
    expect(durations(state)).toEqual({ a: 1000, b: 1000, agent: 5000 })
  })

  test('E25: the time that the agent states is the time of the tool', () => {
    expect(durations(fold([start('u'), quiet, result('u', false, { durationMs: 12 })]))).toEqual({ u: 12 })
  })

  test('E25: what a call began in the background ends with its task, not with the result that says it began', () => {
    const task = (status: string, background?: boolean): Loose => ({
      type: 'status',
      status: 'task',
      message: status,
      level: 'info',
      toolUseId: 'u',
      data: { taskId: 't', status, ...(background === undefined ? {} : { background }) },
    })
    const begun = [start('u'), task('running', true), result('u'), quiet, task('running')]
    expect(durations(fold(begun))).toEqual({ u: null })
    expect(durations(fold([...begun, quiet, task('completed'), quiet, task('completed')]))).toEqual({
      u: 6000,
    })
    const foreground = [start('u'), task('running', false), result('u')]
    expect(durations(fold(foreground))).toEqual({ u: 2000 })
  })

  test('results of parallel tools find their own tool, whatever the order', () => {
    const state = fold([
      { type: 'tool:start', toolUseId: 'a', name: 'Read', input: {} },
      { type: 'tool:start', toolUseId: 'b', name: 'Read', input: {}, parentToolUseId: 'a' },
      { type: 'tool:result', toolUseId: 'b', content: 'B', isError: true },
      { type: 'tool:result', toolUseId: 'a', content: 'A', isError: false },
    ])
    expect(state.items.map(item => item.kind === 'tool' && [item.id, item.status, item.content])).toEqual([
      ['a', 'done', 'A'],
      ['b', 'failed', 'B'],
    ])
    expect(state.items[1]?.parentToolUseId).toBe('a')
  })

  test('a result without a start is not an error', () => {
    expect(fold([{ type: 'tool:result', toolUseId: '?', content: '', isError: false }]).items).toEqual([])
  })
})

describe('turns', () => {
  test('the end of a turn closes everything that was open', () => {
    const state = fold([
      { type: 'turn:start', message: 'go' },
      { type: 'tool:start', toolUseId: 'u', name: 'Bash', input: {} },
      { type: 'chat:delta', messageId: 'm', text: 'par' },
      { type: 'permission:request', requestId: 'r', kind: 'tool', toolName: 'Bash', input: {}, raw: {} },
      { type: 'status', status: 'requesting', message: '', level: 'info' },
      { type: 'turn:end', reason: 'interrupted' },
    ])
    expect(state.phase).toBe('idle')
    expect(state.pending).toEqual([])
    expect(state.activity).toBeNull()
    expect(state.live).toEqual({})
    expect(state.items.slice(1)).toEqual([
      expect.objectContaining({ kind: 'tool', status: 'unfinished' }),
      expect.objectContaining({ kind: 'text', text: 'par', streaming: false, aborted: true }),
    ])
    expect(state.turns).toEqual([expect.objectContaining({ reason: 'interrupted' })])
  })

  test('an agent that was started ahead of a turn is ready, not at work', () => {
    const init: Loose = { type: 'session:init', claudeSessionId: 'n', model: 'm', tools: [] }
    const [ahead, within] = [null, 't1'].map(turnId =>
      reduceSession(initialSessionState(sessionId), envelopes([init], turnId)),
    )
    expect(ahead).toMatchObject({ phase: 'idle', agent: { model: 'm' } })
    expect(within).toMatchObject({ phase: 'running' })
  })

  test('waiting while a decision is pending, running again after it', () => {
    const request: Loose = {
      type: 'permission:request',
      requestId: 'r',
      kind: 'tool',
      toolName: 'T',
      input: {},
      raw: 1,
    }
    const waiting = fold([{ type: 'turn:start', message: 'go' }, request])
    expect(waiting.phase).toBe('waiting')
    const running = fold([
      { type: 'turn:start', message: 'go' },
      request,
      { type: 'permission:resolved', requestId: 'r', outcome: 'allowed', by: 'person' },
    ])
    expect(running.phase).toBe('running')
    expect(running.pending).toEqual([])
  })

  test('costs and usage add up over results, failed ones included', () => {
    const usage = { input_tokens: 1, output_tokens: 2, cache_read_input_tokens: 3 }
    const state = fold([
      { type: 'turn:start', message: 'go' },
      { type: 'session:complete', costUsd: 0.1, usage },
      { type: 'session:error', error: 'x', code: 'api_error', costUsd: 0.2, usage },
    ])
    expect(state.costUsd).toBe(0.3)
    expect(state.turns[0]?.costUsd).toBe(0.3)
    expect(state.usage).toMatchObject({ input_tokens: 2, output_tokens: 4, cache_read_input_tokens: 6 })
    expect(last(state)).toMatchObject({ kind: 'error', code: 'api_error', message: 'x' })
  })

  test('an unknown cost is absent, not 0', () => {
    const init: Loose = { type: 'session:init', claudeSessionId: 'n', model: 'unpriced', tools: [] }
    const complete: Loose = { type: 'session:complete', usage: { input_tokens: 8, output_tokens: 2 } }
    const state = fold([{ type: 'turn:start', message: 'go' }, init, complete])
    expect([state.costUsd, state.turns[0]?.costUsd]).toEqual([null, null])
  })
})

describe('statuses', () => {
  test('temporary statuses are removed, lasting ones stay as notices', () => {
    const state = fold([
      { type: 'status', status: 'retrying', message: 'again', level: 'warn' },
      { type: 'status', status: 'requesting', message: '', level: 'info' },
    ])
    expect(state.items).toEqual([expect.objectContaining({ kind: 'notice', status: 'retrying' })])
    expect(state.activity?.status).toBe('requesting')
  })

  test('the reports of a task update one line', () => {
    const state = fold([
      { type: 'status', status: 'task', message: 'started', level: 'info', data: { taskId: 'a' } },
      { type: 'status', status: 'task', message: 'other', level: 'info', data: { taskId: 'b' } },
      { type: 'status', status: 'task', message: 'done', level: 'info', data: { taskId: 'a' } },
    ])
    expect(state.items.map(item => item.kind === 'notice' && item.message)).toEqual(['done', 'other'])
  })

  test('drift is counted and gaps are shown', () => {
    const state = fold([
      { type: 'native:unknown', harness: 'claude-code', nativeType: 'x', raw: {} },
      { type: 'log:gap', afterSeq: 1, missing: 3, reason: 'torn' },
    ])
    expect(state.driftCount).toBe(1)
    expect(last(state)).toMatchObject({ kind: 'gap', missing: 3 })
  })
})

describe('folding', () => {
  const events = envelopes([
    { type: 'turn:start', message: 'go' },
    { type: 'session:init', claudeSessionId: 'n', model: 'm', tools: ['Bash'] },
    { type: 'chat:delta', messageId: 'a', text: 'x' },
    { type: 'chat:message', messageId: 'a', text: 'xy' },
    { type: 'session:complete', costUsd: 1, usage: noUsage },
    { type: 'turn:end', reason: 'completed' },
  ])

  test('one by one and in any batches gives the same state', () => {
    const start = initialSessionState(sessionId)
    const whole = reduceSession(start, events)
    expect(events.reduce(reduceSession, start)).toEqual(whole)
    for (let cut = 1; cut < events.length; cut++) {
      const halves = [events.slice(0, cut), events.slice(cut)]
      expect(halves.reduce<SessionState>((state, half) => reduceSession(state, half), start)).toEqual(whole)
    }
  })

  test('an envelope seen before changes nothing', () => {
    const once = reduceSession(initialSessionState(sessionId), events)
    expect(reduceSession(once, events)).toBe(once)
  })

  test('an event of a newer version is passed over', () => {
    const future = { ...events[0], seq: 1, event: { type: 'future:thing', sessionId } } as unknown as Envelope
    expect(reduceSession(initialSessionState(sessionId), future).seq).toBe(1)
  })

  test('the state it was given is never changed', () => {
    const frozen = Object.freeze(reduceSession(initialSessionState(sessionId), events.slice(0, 3)))
    const copy = structuredClone(frozen)
    reduceSession(frozen, events.slice(3))
    expect(frozen).toEqual(copy)
  })
})

test('a message without pieces is found or added in a long session, and the newest of an id counts', () => {
  const event = (seq: number, text: string, id: string): Envelope => ({
    seq,
    at: '2026-01-01T00:00:00.000Z',
    sessionId: 's',
    turnId: 't',
    event: { type: 'chat:message', sessionId: 's', messageId: id, text },
  })
  const long = Array.from({ length: 1_000 }, (_, i) => event(i + 1, `text ${i}`, `m${i}`))
  const state = reduceSession(initialSessionState('s'), [
    ...long,
    event(1_001, 'changed', 'm3'),
    event(1_002, 'new', 'n'),
  ])
  expect(state.items).toHaveLength(1_001)
  expect(state.items[3]).toMatchObject({ text: 'changed' })
  expect(state.items.at(-1)).toMatchObject({ text: 'new' })
})

test('an id that is a name of objects is one like any other', () => {
  const piece = (seq: number, text: string): Envelope => ({
    seq,
    at: '2026-01-01T00:00:00.000Z',
    sessionId: 's',
    turnId: 't',
    event: { type: 'chat:delta', sessionId: 's', messageId: '__proto__', text },
  })
  const state = reduceSession(initialSessionState('s'), [piece(1, 'a'), piece(2, 'b')])
  expect(Reflect.get(state.live, '__proto__')).toBe('ab')
})
