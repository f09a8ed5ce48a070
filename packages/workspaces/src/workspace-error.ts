import { CodedError } from '@chirality/core'

/** What a call to git or about a worktree can fail with. */
export type WorkspaceErrorCode =
  | 'git-missing'
  | 'git-failed'
  | 'too-large'
  | 'worktree-refused'
  | 'worktree-missing'
  | 'worktree-exists'

export function workspaceError(
  code: WorkspaceErrorCode,
  message: string,
  cause?: unknown,
): CodedError<WorkspaceErrorCode> {
  return new CodedError(code, message, cause)
}
