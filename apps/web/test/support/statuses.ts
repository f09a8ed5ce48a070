import type { SessionStatus } from '../../src/state/server/server-api.ts'

/** The status of a session that rests, with what a test wants different. */
export function aStatus(fields: Partial<SessionStatus> = {}): SessionStatus {
  return {
    sessionId: 's1',
    projectRoot: '/code/parser-kit',
    title: 'Fix CRLF handling',
    harness: 'claude-code',
    model: 'claude-opus-5-5',
    persona: null,
    mode: 'workbench',
    phase: 'idle',
    turnId: null,
    turnStartedAt: null,
    lastTurn: null,
    leftUnanswered: false,
    costUsd: 0,
    costIsEstimate: false,
    tokens: 0,
    budgetUsd: null,
    budgetTokens: null,
    updatedAt: '2026-01-01T12:00:00.000Z',
    lastSeq: 0,
    lastLine: null,
    pending: [],
    policyProblem: null,
    queue: [],
    steered: [],
    queueHeld: false,
    logHealth: 'ok',
    ...fields,
  }
}
