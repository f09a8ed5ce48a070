import { existsSync } from 'node:fs'
import { LoopBook, type TaskState } from '@chirality/loops'
import { type StoredSession, userDataFolder } from '@chirality/sessions'

export interface LoopTask {
  loopId: string
  state: TaskState
}

/**
 * The tasks of loops that sessions of this machine are of, by session, without those that are proved. The checks of the
 * loop say how such a session stands, not the last turn of its agent.
 */
export async function tasksOf(sessions: readonly StoredSession[]): Promise<Map<string, LoopTask>> {
  const tasks = new Map<string, LoopTask>()
  // A task has a worktree of its own.
  const inWorktrees = sessions.filter(({ worktree }) => worktree !== null)
  for (const root of new Set(inWorktrees.map(({ projectRoot }) => projectRoot))) {
    if (!existsSync(root)) continue
    for (const { loopId, tasks: all } of await new LoopBook(root, userDataFolder()).list())
      for (const state of all.values())
        if (state.status !== 'merged' && state.status !== 'reverted')
          tasks.set(state.sessionId, { loopId, state })
  }
  return tasks
}

/** As `loop status` calls it. Undefined while the session itself is at work. */
export function taskWord({ status }: StoredSession, task: LoopTask | undefined): string | undefined {
  if (task === undefined || status !== 'idle') return undefined
  return task.state.status === 'working' ? 'not proved' : task.state.status
}
