import { CodedError } from '@chirality/core'

/** Codes of the errors of calls about git and worktrees. */
export type WorkspaceErrorCode =
  | 'git-missing'
  | 'git-failed'
  | 'too-large'
  | 'worktree-refused'
  | 'worktree-missing'
  | 'worktree-exists'
  /** A file, branch or commit is not in the expected state. Nothing was changed. */
  | 'review-refused'
  | 'review-missing'
  /** Blame is unavailable: the file is binary or too large. */
  | 'blame-refused'
  /** The session has no such turn, or the files around it are not stored. */
  | 'turn-missing'
  /** An earlier state has no such file, or a file no such line. */
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
