import type { CallOutputs, Client } from '@chirality/client'
import type { SessionStatus } from '../server/answers.ts'

const MAX_SESSIONS = 1000

/** Every session that the server has stored, as the list shows it. */
export async function storedSessions(client: Client): Promise<SessionStatus[]> {
  const { sessions } = await client.sessions.list.query({ limit: MAX_SESSIONS })
  return sessions.map(toStatus)
}

type Stored = CallOutputs['sessions']['list']['sessions'][number]

/** A session that does not run looks like one that rests. */
function toStatus(stored: Stored): SessionStatus {
  const { id, projectRoot, title, harness, model, persona, mode, lastTurn, updatedAt, lastSeq } = stored
  const { costUsd, costIsEstimate, tokens, settings, leftUnanswered, shelf } = stored
  return {
    sessionId: id,
    projectRoot,
    title,
    harness,
    model,
    persona,
    mode,
    shelf,
    lastTurn,
    leftUnanswered,
    costUsd,
    costIsEstimate,
    tokens,
    updatedAt,
    lastSeq,
    budgetUsd: settings.budgetUsd ?? null,
    budgetTokens: settings.budgetTokens ?? null,
    budgetMinutes: settings.budgetMinutes ?? null,
    lastLine: stored.progress.lastLine,
    ...placeOf(stored),
    phase: 'idle',
    turnId: null,
    turnStartedAt: null,
    logHealth: 'ok',
    pending: [],
    policyProblem: null,
    queue: [],
    steered: [],
    queueHeld: false,
  }
}

function placeOf({ machine, worktree }: Stored): Pick<SessionStatus, 'machine' | 'worktree'> {
  if (machine) return { machine }
  // Only its id is stored: without it, the files of the project would be taken for those of the session.
  return worktree ? { worktree: { id: worktree, folder: null, branch: null, baseBranch: null } } : {}
}
