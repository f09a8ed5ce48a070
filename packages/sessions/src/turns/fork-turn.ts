import type { SessionHarness } from '@chirality/core'
import { writtenAccount } from '../history/written-account.ts'
import type { ProjectContext } from '../host/host-context.ts'
import { readSessionLog } from '../log/read-log.ts'
import { goesOnAfter, isAnsweredAfter } from '../store/fork-history.ts'
import { batchesOf } from '../store/fork-log.ts'
import type { ForkOrigin, StoredSession } from '../store/stored-session.ts'

/**
 * What the agent of a turn goes on from. `own`: the session's conversation, or none. `branch`: all of the conversation that
 * the session was forked from. `account`: nothing; it is told in writing what is shown.
 */
export type TurnHistory =
  | { kind: 'own' }
  | { kind: 'branch'; nativeSessionId: string }
  | { kind: 'account'; forkedFrom: ForkOrigin }

/** Decided anew before each turn until the agent has answered: the other session may have gone on since the fork. */
export async function historyOf(
  session: StoredSession,
  harness: SessionHarness,
  { store }: ProjectContext,
): Promise<TurnHistory> {
  const { forkedFrom, claudeSessionId } = session
  if (forkedFrom === null) return OWN
  if (forkedFrom.history === 'account') {
    const isTaken =
      claudeSessionId !== null && (await ask(session, log => isAnsweredAfter(log, forkedFrom.seq)))
    return isTaken ? OWN : { kind: 'account', forkedFrom }
  }
  if (claudeSessionId !== null) return OWN
  const { claudeSessionId: nativeSessionId, sessionId, seq } = forkedFrom
  const isSameAgent = session.harness === null || session.harness === harness.id
  const source = await store.get(sessionId)
  const isWhole =
    source !== undefined &&
    (await ask(source, log => log.lastSeq >= seq && !goesOnAfter(log, seq))) &&
    harness.capabilities().supportsFork
  if (nativeSessionId !== null && isSameAgent && isWhole) return { kind: 'branch', nativeSessionId }
  return session.turnCount > 0 ? { kind: 'account', forkedFrom } : OWN
}

/** What is shown of the session, in writing. */
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
