/** The changed files of a work tree, as `git status` has them. */
export interface GitStatus {
  branch: string | null
  /** Null before the first commit. */
  commit: string | null
  ahead: number
  behind: number
  files: ChangedFile[]
}

export interface ChangedFile {
  /** From the root of the project; outside of it with `../`. */
  path: string
  /** One letter each, as git has them: M, A, D, R, C, U, ? and . for none. */
  index: string
  worktree: string
  renamedFrom?: string | undefined
}

/** The difference of two trees. */
export interface Changes {
  files: FileChange[]
  /** A unified diff, as `git apply` takes it. */
  patch: string
  /** The patch was too large; `files` is complete. */
  truncated: boolean
  /** Undefined if there are none. They are neither in `files` nor in `patch`. */
  submodules?: MovedSubmodule[] | undefined
}

/** A submodule that is at another commit: than the last commit names, or than the earlier tree. */
export interface MovedSubmodule {
  path: string
  /** Null if it is new. */
  from: string | null
  /** Null if it is gone. */
  to: string | null
}

export interface FileChange {
  path: string
  kind: 'added' | 'deleted' | 'changed' | 'renamed'
  renamedFrom?: string | undefined
  /** Null for what is not text. */
  added: number | null
  removed: number | null
}
