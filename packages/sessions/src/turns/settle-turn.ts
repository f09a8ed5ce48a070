import type { Spending } from '../budget/budget-book.ts'
import { faultRow } from '../harness-log/rows.ts'
import { noteClaudeSession } from '../store/project-state.ts'
import type { StoredSession } from '../store/stored-session.ts'
import type { ProjectContext } from './host-context.ts'
import type { SessionStateFiles } from './record/session-state-files.ts'

export interface SettleOptions {
  project: ProjectContext
  /** The session as its log has it. */
  session: StoredSession
  state: SessionStateFiles
  turnId: string
  spent: Spending
}

/**
 * Stores the results of a turn. A failure here must not fail the turn: state that is not stored is rebuilt from the
 * log, and the turn's record stays until then. Resolves with whether the session is stored.
 */
export async function settleTurn({
  project,
  session,
  state,
  turnId,
  spent,
}: SettleOptions): Promise<boolean> {
  const { projectRoot, id: sessionId, persona, mode, claudeSessionId } = session
  // Different files: together they wait for the disk once.
  const [counted, saved, noted] = await Promise.allSettled([
    project.budget.count(turnId, spent),
    project.store.save(session).then(() => project.store.noteSpent(session)),
    noteClaudeSession(projectRoot, (persona ?? mode).toLowerCase(), claudeSessionId),
  ])
  if (counted.status === 'rejected') project.budget.owe(turnId, spent)
  try {
    for (const write of [counted, saved, noted]) if (write.status === 'rejected') throw write.reason
    await state.record.remove(turnId)
  } catch (error) {
    project.harnessLog.write(sessionId, faultRow(error))
  }
  return saved.status === 'fulfilled'
}
