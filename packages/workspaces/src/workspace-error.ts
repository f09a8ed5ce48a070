import { CodedError } from '@chirality/core'

/** What a call to git or about a worktree can fail with. */
export type WorkspaceErrorCode =
  | 'git-missing'
  | 'git-failed'
  | 'too-large'
  | 'worktree-refused'
  | 'worktree-missing'
  | 'worktree-exists'
  /** A file, a branch or a commit is not in the state that was asked about. Nothing was changed. */
  | 'review-refused'
  | 'review-missing'
  /** Who wrote a file cannot be said: it is no text, or too large. */
  | 'blame-refused'
  /** The session has no such turn, or the files around it are not kept. */
  | 'turn-missing'
  /** There is no such file in an earlier state, or no such line in a file. */
  | 'not-found'
  | 'invalid-input'
  /** A file of a project cannot be read. */
  | 'file-missing'
  | 'file-unreadable'
  | 'not-a-file'
  | 'not-a-folder'
  | 'outside-project'
  | 'too-many-files'

export function workspaceError(
  code: WorkspaceErrorCode,
  message: string,
  cause?: unknown,
): CodedError<WorkspaceErrorCode> {
  return new CodedError(code, message, cause)
}
