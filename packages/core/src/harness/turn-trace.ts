/** A process of a turn: the facts by which a restarted server finds the process and its output. */
export interface TurnProcess {
  pid: number
  /** The start time of the process, as the operating system reports it: a pid alone can be reused. */
  startTime: string
  /** Set in the environment of the process and of everything it starts. */
  marker: string
  spoolPath: string
  stderrPath: string
  /** Offset in the spool at which this turn begins; a kept process has one spool for all its turns. */
  spoolOffset: number
  /**
   * For a process that serves several conversations at once: the turn's own, and those of its sub-agents so far. Only
   * lines about these belong to the turn.
   */
  nativeSessionIds?: string[]
}

/** The record of a running turn. */
export interface TurnTrace {
  turnId: string
  startedAt: string
  message: string
  /** The number of images or documents with the message. */
  attachments?: number
  /** The native session that the turn resumed. */
  resumeSessionId?: string
  /** In the order of their start: a failed resume is followed by a new start. */
  processes: TurnProcess[]
}
