/** The changed files of a work tree according to `git status`. */
export interface GitStatus {
  branch: string | null
  /** Null before the first commit. */
  commit: string | null
  ahead: number
  behind: number
  files: ChangedFile[]
}

export interface ChangedFile {
  /** Relative to the root of the project; files outside of it start with `../`. */
  path: string
  /** Status letters of git, one each: M, A, D, R, C, U, ? and `.` for unchanged. */
  index: string
  worktree: string
  renamedFrom?: string | undefined
}

/** The difference between two trees. */
export interface Changes {
  files: FileChange[]
  /** A unified diff that `git apply` accepts. */
  patch: string
  /** True if the patch was too large; `files` is complete anyway. */
  truncated: boolean
  /** Undefined without any. Submodules are neither in `files` nor in `patch`. */
  submodules?: MovedSubmodule[] | undefined
}

/** A submodule at another commit than the last commit or the earlier tree names. */
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
  /** Null for files that are not text. */
  added: number | null
  removed: number | null
}
