import type { ProjectContext } from '../host/host-context.ts'
import type { SessionView } from '../host/session-view.ts'
import { noteClaudeSession } from '../store/project-state.ts'
import { TurnRecordFile } from './turn-record-file.ts'

export interface SettleOptions {
  project: ProjectContext
  view: SessionView
  turnId: string
}

/** Stores what a turn left behind. All of it can be made again from the log, so none of it may fail the turn. */
export async function settleTurn({ project, view }: SettleOptions): Promise<void> {
  const { session } = view
  const { projectRoot, id: sessionId, persona, mode, claudeSessionId } = session
  const steps = [
    () => project.store.save(session),
    () => noteClaudeSession(projectRoot, (persona ?? mode).toLowerCase(), claudeSessionId),
    () => new TurnRecordFile(projectRoot, sessionId).remove(),
  ]
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      const { message, stack } = error instanceof Error ? error : new Error(String(error))
      project.harnessLog.write(sessionId, { event: 'error', message, stack })
    }
  }
}
