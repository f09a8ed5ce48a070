import type { SessionHarness } from '@chirality/core'
import { writtenAccount } from '../history/written-account.ts'
import { readSessionLog } from '../log/read-log.ts'
import { goesOnAfter, isAnsweredAfter } from '../store/fork-history.ts'
import { batchesOf } from '../store/fork-log.ts'
import type { ForkOrigin, StoredSession } from '../store/stored-session.ts'
import type { ProjectContext } from './host-context.ts'

/**
 * What the agent of a turn resumes. `own`: the session's conversation, or none. `branch`: the conversation that the
 * session was forked from, all of it or up to `at`. `account`: no conversation; the prompt contains a transcript.
 */
export type TurnHistory =
  | { kind: 'own' }
  | { kind: 'branch'; nativeSessionId: string; at?: string; forkedFrom: ForkOrigin }
  | { kind: 'account'; forkedFrom: ForkOrigin }

/** Decided again before each turn until the agent has answered: the other session may have continued since the fork. */
export async function historyOf(
  session: StoredSession,
  harness: SessionHarness,
  { store }: ProjectContext,
): Promise<TurnHistory> {
  const { forkedFrom, claudeSessionId } = session
  if (forkedFrom === null) return OWN
  const isTaken =
    claudeSessionId !== null && (await ask(session, log => isAnsweredAfter(log, forkedFrom.seq)))
  if (isTaken) return OWN
  const branch = forkedFrom.history === 'account' ? undefined : await branchOf(session, harness, store)
  if (branch !== undefined) return branch
  return session.turnCount > 0 ? { kind: 'account', forkedFrom } : OWN
}

/** Undefined if the agent cannot resume the conversation as it was at the fork. */
async function branchOf(
  { forkedFrom, harness: agent }: StoredSession,
  harness: SessionHarness,
  store: ProjectContext['store'],
): Promise<TurnHistory | undefined> {
  const { supportsFork, supportsForkAt } = harness.capabilities()
  const isSameAgent = agent === null || agent === harness.id
  if (!forkedFrom?.claudeSessionId || !isSameAgent || !supportsFork) return undefined
  const { claudeSessionId: nativeSessionId, sessionId, seq, point } = forkedFrom
  const branch = { kind: 'branch', nativeSessionId, forkedFrom } as const
  if (forkedFrom.history !== 'cut') {
    const source = await store.get(sessionId)
    const isWhole = source && (await ask(source, log => log.lastSeq >= seq && !goesOnAfter(log, seq)))
    if (isWhole) return branch
  }
  return point !== undefined && supportsForkAt ? { ...branch, at: point } : undefined
}

/** A transcript of the session as it is shown. */
export async function accountOf({ projectRoot, id }: StoredSession): Promise<string | undefined> {
  const log = await readSessionLog(projectRoot, id)
  try {
    return log && (await writtenAccount(batchesOf(log, log.lastSeq)))
  } finally {
    log?.close()
  }
}

const OWN: TurnHistory = { kind: 'own' }

type Log = NonNullable<Awaited<ReturnType<typeof readSessionLog>>>

async function ask({ projectRoot, id }: StoredSession, question: (log: Log) => boolean): Promise<boolean> {
  const log = await readSessionLog(projectRoot, id)
  try {
    return log !== undefined && question(log)
  } finally {
    log?.close()
  }
}
