import type { TurnChanges, WorkPlace, Worktrees } from '@chirality/workspaces'
import type { LiveSession } from '../status/live-session.ts'
import type { SessionStatus } from '../status/session-status.ts'
import type { ForkOptions, SessionStore } from '../store/session-store.ts'
import type { Shelf, StoredSession } from '../store/stored-session.ts'

/** What work on the changes of a session needs of its host. */
export interface ReviewHost {
  /** The user's data folder. */
  readonly home: string
  /** Where this process is reached, or the name of its command. */
  readonly address: string
  readonly store: Pick<SessionStore, 'get' | 'resume' | 'page'>
  readonly worktrees: Pick<Worktrees, 'find' | 'get' | 'make' | 'remove'>
  readonly changes: TurnChanges
  readonly moves: {
    /** Throws if a session waits for a move to another machine. */
    requireStaying(id: string): void
    /** Throws for a session that its user deleted and can still restore. */
    requireKept(id: string): void
  }
  session(id: string): Promise<LiveSession>
  statuses(): SessionStatus[]
  forkSession(id: string, options?: ForkOptions): Promise<StoredSession>
  shelveSession(id: string, shelf: Shelf): Promise<StoredSession>
  deleteSession(id: string): Promise<void>
  /** Resolves when what a killed process left half done in the files of a project is finished. Never rejects. */
  movesRecovered(projectRoot: string): Promise<void>
  logFault(error: unknown): void
}

/** Where the agent of a session works: the project's folder, or the same folder in a worktree. */
export function workFolderOf({ projectRoot, worktree }: SessionStatus): string {
  return worktree?.folder ?? projectRoot
}

/** For work on what a session changed. Undefined if there is no git repository. */
export function inWorkFolder<T>(
  { changes }: Pick<ReviewHost, 'changes'>,
  { id, status }: Pick<LiveSession, 'id' | 'status'>,
  work: (place: WorkPlace) => Promise<T>,
): Promise<T | undefined> {
  const { projectRoot: root } = status
  return changes.inWorkFolder({ sessionId: id, root, folder: workFolderOf(status) }, work)
}
