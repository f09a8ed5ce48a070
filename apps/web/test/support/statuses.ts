import type { SessionStatus, UsageReport } from '../../src/state/server/answers.ts'

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
    shelf: null,
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
    budgetMinutes: null,
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

type UsageRow = UsageReport['rows'][number]

/** A report of the last days up to 9 November, or of the hours of that day, with these rows. */
export function aUsage(
  days: number,
  rows: readonly Partial<UsageRow>[],
  more: Partial<UsageReport> = {},
): UsageReport {
  const times =
    days === 1
      ? Array.from({ length: 24 }, (_, hour) => `2026-11-09T${String(hour).padStart(2, '0')}`)
      : Array.from({ length: days }, (_, i) =>
          new Date(Date.UTC(2026, 10, 10 - days + i)).toISOString().slice(0, 10),
        )
  return {
    times,
    rows: rows.map(row => ({
      ...{ time: times.at(-1) ?? '', projectRoot: '/code/parser-kit', harness: 'claude-code' },
      ...{ model: 'claude-opus-5-5', persona: null },
      ...{ usd: 0, isEstimate: false, tokens: 0, unpricedTokens: 0, ...row },
    })),
    ...{ sessions: [], sessionCount: 0, plans: [], deleted: { sessions: 0, usd: 0, tokens: 0 }, ...more },
  }
}
