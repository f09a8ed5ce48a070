import { expect, test } from 'vitest'
import type { Envelope, UIEvent } from '../events/ui-event.ts'
import { foldSummary, newSummary } from './summary.ts'

const sessionId = 's'
const usage = { input_tokens: 0, output_tokens: 0 }
const turn: UIEvent[] = [
  { type: 'turn:start', sessionId, message: 'hi' },
  { type: 'session:complete', sessionId, costUsd: 1, usage },
  { type: 'turn:end', sessionId, reason: 'completed' },
]

function summaryOf(events: [turnId: string | null, event: UIEvent][]) {
  const envelopes = events.map(([turnId, event], i): Envelope => {
    const at = new Date(Date.UTC(2026, 0, 1, 0, 0, i)).toISOString()
    return { seq: i + 1, at, sessionId, turnId, event }
  })
  return foldSummary(newSummary(sessionId), envelopes)
}

test('what a kept agent says between turns counts, and the session rests as its last turn left it', () => {
  const between: UIEvent[] = [
    { type: 'session:init', sessionId, claudeSessionId: 'c', model: 'm', tools: [] },
    { type: 'status', sessionId, status: 'requesting', level: 'info', message: '' },
    { type: 'chat:message', sessionId, messageId: 'm#9', text: 'It is done.' },
    {
      type: 'permission:request',
      sessionId,
      requestId: 'r',
      kind: 'tool',
      toolName: 'Bash',
      input: {},
      raw: null,
    },
    { type: 'permission:resolved', sessionId, requestId: 'r', outcome: 'denied', by: 'policy' },
    { type: 'session:error', sessionId, error: 'x', code: 'unknown', costUsd: 2, usage },
    { type: 'status', sessionId, status: 'requesting', level: 'info', message: '' },
  ]
  const summary = summaryOf([
    ...turn.map((event): [string, UIEvent] => ['t1', event]),
    ...between.map((event): [null, UIEvent] => [null, event]),
  ])
  expect(summary).toMatchObject({ phase: 'idle', condition: 'done', lastTurn: 'completed', turnCount: 1 })
  expect(summary).toMatchObject({ activity: null, error: null, pending: [], workedMs: 2000 })
  expect(summary).toMatchObject({ costUsd: 3, turn: { id: 't1', costUsd: 3 }, agent: { model: 'm' } })
})
