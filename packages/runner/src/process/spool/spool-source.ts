/** The two files an agent writes to, as their reader needs them. */
export interface SpoolSource {
  readonly path: string
  readonly stderrPath: string
  readonly stdout: SpoolReadEnd
  /** Not there when an earlier reader found it empty. */
  readonly stderr?: SpoolReadEnd
  /**
   * Closes everything. A stderr file that nothing was written to is removed; a file that someone deleted meanwhile is
   * written again from what is still open, because the raw log is the one thing that is never lost.
   */
  close(): Promise<void>
}

export interface SpoolReadEnd {
  readonly path: string
  readonly readFd: number
}
