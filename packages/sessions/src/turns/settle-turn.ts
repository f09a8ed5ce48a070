import type { Spending } from '../budget/budget-book.ts'
import { faultRow } from '../harness-log/rows.ts'
import { noteClaudeSession } from '../store/project-state.ts'
import type { StoredSession } from '../store/stored-session.ts'
import type { ProjectContext } from './host-context.ts'
import { TurnRecordFile } from './record/turn-record.ts'

export interface SettleOptions {
  project: ProjectContext
  /** The session as its log has it. */
  session: StoredSession
  turnId: string
  spent: Spending
}

/**
 * Stores the results of a turn. A failure here must not fail the turn: state that is not stored is rebuilt from the
 * log, and the turn's record stays until then.
 */
export async function settleTurn({ project, session, turnId, spent }: SettleOptions): Promise<void> {
  const { projectRoot, id: sessionId, persona, mode, claudeSessionId } = session
  try {
    await project.store.save(session)
    await project.store.noteSpent(session)
    await project.budget.count(turnId, spent)
    await noteClaudeSession(projectRoot, (persona ?? mode).toLowerCase(), claudeSessionId)
    await new TurnRecordFile(projectRoot, sessionId).remove(turnId)
  } catch (error) {
    project.budget.owe(turnId, spent)
    project.harnessLog.write(sessionId, faultRow(error))
  }
}
