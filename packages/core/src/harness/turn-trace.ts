/** A process that prints for a turn, as far as a later Chirality needs it to find process and output again. */
export interface TurnProcess {
  pid: number
  /** When the process began, as the operating system tells it: a pid alone is used again. */
  startTime: string
  /** In the environment of the process and of all that it starts. */
  marker: string
  spoolPath: string
  stderrPath: string
  /** Where in the spool this turn begins; a process that is kept between turns has one spool for all of them. */
  spoolOffset: number
  /**
   * Of a process that serves several conversations at once: the turn's own, and those of its sub-agents so far. Only what
   * the spool says of these belongs to the turn.
   */
  nativeSessionIds?: string[]
}

/** What is kept of a turn while it runs. */
export interface TurnTrace {
  turnId: string
  startedAt: string
  message: string
  /** How many images or documents came with the message. */
  attachments?: number
  /** The native session that the turn continued. */
  resumeSessionId?: string
  /** In the order they were started: a resume that failed is followed by a fresh start. */
  processes: TurnProcess[]
}
