import type { SessionStatus } from './answers.ts'

export type SessionPlace = Pick<SessionStatus, 'projectRoot' | 'sessionId' | 'worktree' | 'machine'>

/** Project folder, worktree of a session, or the folder of a session on another machine. */
export interface FilePlace {
  project: string
  sessionId?: string
}

/**
 * Input of calls about files of a session. Not the folder: that of a worktree at rest is unknown here, and the project's
 * folder in its place would give its files to the sessions that work there.
 */
export function filePlace({ projectRoot, sessionId, worktree, machine }: SessionPlace): FilePlace {
  return worktree || machine ? { project: projectRoot, sessionId } : { project: projectRoot }
}

/** Folder in which the agent of a session works. */
export function workFolder({ projectRoot, worktree }: SessionPlace): string {
  return worktree?.folder ?? projectRoot
}
