import {
  type Envelope,
  initialSessionState,
  reduceSession,
  type SessionState,
  type UIEvent,
} from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { buildRows, type ChatRow, type ChatRows, countSteps, NO_ROWS, turnStarts } from './rows.logic.ts'

type Loose = UIEvent extends infer E ? (E extends UIEvent ? Omit<E, 'sessionId'> : never) : never

const envelope = (event: Loose, seq: number, turnId: string): Envelope => ({
  seq,
  at: new Date(Date.UTC(2026, 0, 1, 0, 0, seq)).toISOString(),
  sessionId: 's',
  turnId,
  event: { sessionId: 's', ...event } as UIEvent,
})

const turn = (t: string): Loose[] => [
  { type: 'turn:start', message: 'go' },
  { type: 'chat:message', messageId: `m${t}`, text: 'I delegate' },
  { type: 'tool:start', toolUseId: `agent${t}`, name: 'Agent', input: {} },
  { type: 'tool:start', toolUseId: `inner${t}`, name: 'Agent', input: {}, parentToolUseId: `agent${t}` },
  { type: 'tool:start', toolUseId: `deep${t}`, name: 'Bash', input: {}, parentToolUseId: `inner${t}` },
  { type: 'chat:message', messageId: `sub${t}`, text: 'inside', parentToolUseId: `agent${t}` },
  { type: 'tool:result', toolUseId: `agent${t}`, content: 'ok', isError: false },
  { type: 'session:complete', costUsd: 0.1, usage: { input_tokens: 1, output_tokens: 1 } },
  { type: 'turn:end', reason: 'completed' },
]

const TURN_EVENTS = turn('').length
const log = ['1', '2']
  .flatMap(t => turn(t).map(event => ({ event, t })))
  .map(({ event, t }, i) => envelope(event, i + 1, t))

const kinds = (rows: readonly ChatRow[]) =>
  rows.map(row => (row.kind === 'item' ? row.node.item.kind : row.kind))

describe('buildRows', () => {
  test('what a sub-agent does is inside the call that started it, three levels deep', () => {
    const { rows } = buildRows(reduceSession(initialSessionState('s'), log))
    expect(kinds(rows)).toEqual(['user', 'text', 'tool', 'turn-end', 'user', 'text', 'tool', 'turn-end'])
    const agent = rows[2]
    if (agent?.kind !== 'item') throw new Error('no tool')
    expect(agent.node.children.map(({ item }) => item.id)).toEqual(['inner1', 'sub1'])
    expect(agent.node.children[0]?.children[0]?.item.id).toBe('deep1')
    expect(countSteps(agent.node.children)).toBe(2)
  })

  test('built event by event it is the same as built at once', () => {
    let state: SessionState = initialSessionState('s')
    let rows: ChatRows = NO_ROWS
    for (const one of log) {
      state = reduceSession(state, one)
      rows = buildRows(state, rows)
      expect(rows.rows).toEqual(buildRows(state).rows)
    }
  })

  test('the rows of a closed turn are the same objects afterwards', () => {
    const one = reduceSession(initialSessionState('s'), log.slice(0, TURN_EVENTS + 1))
    const before = buildRows(one)
    const after = buildRows(reduceSession(one, log.slice(TURN_EVENTS + 1)), before)
    expect(after.rows.slice(0, 4).every((row, i) => row === before.rows[i])).toBe(true)
  })

  test('a request that waits is the last row, and the line about the model is not shown beside it', () => {
    const request: Loose = {
      type: 'permission:request',
      requestId: 'r',
      kind: 'tool',
      toolName: 'Bash',
      input: {},
      raw: 0,
    }
    const events: Loose[] = [{ type: 'turn:start', message: 'go' }, request]
    const state = reduceSession(
      initialSessionState('s'),
      events.map((event, i) => envelope(event, i + 1, 't')),
    )
    expect(kinds(buildRows(state).rows)).toEqual(['user', 'decision'])
  })

  test('a turn at work without text has a line that says so', () => {
    const state = reduceSession(
      initialSessionState('s'),
      envelope({ type: 'turn:start', message: 'go' }, 1, 't'),
    )
    expect(kinds(buildRows(state).rows)).toEqual(['user', 'status'])
  })

  test('turns can be found', () => {
    expect(turnStarts(buildRows(reduceSession(initialSessionState('s'), log)).rows)).toEqual([0, 4])
  })
})
