// What app-server notifications and responses hold.

/** A conversation, as `thread/started` and the responses to `thread/start`, `resume` and `fork` describe it. */
export interface CodexThread {
  id?: string
  /** Set on the thread of a sub-agent. */
  parentThreadId?: string | null
  forkedFromId?: string | null
  model?: string | null
  cwd?: string
  /** The version that created the thread, not the one that runs it. */
  cliVersion?: string
  [key: string]: unknown
}

export interface CodexTurn {
  id?: string
  status?: 'inProgress' | 'completed' | 'interrupted' | 'failed' | (string & {})
  error?: CodexTurnError | null
  /** Only the last message, in notifications. */
  items?: CodexThreadItem[]
  durationMs?: number | null
  [key: string]: unknown
}

export interface CodexTurnError {
  message?: string
  /** A name, or an object with a name as its only key: `{ httpConnectionFailed: { httpStatusCode: 401 } }`. */
  codexErrorInfo?: string | Record<string, { httpStatusCode?: number | null } | unknown> | null
  additionalDetails?: string | null
  [key: string]: unknown
}

/** One thing said or done. The fields are those of `CodexItem` in camel case, and more. */
export interface CodexThreadItem {
  type?: string
  id?: string
  [key: string]: unknown
}

export interface CodexTokenUsage {
  /** Of the whole thread. */
  total?: CodexTokenCounts
  /** Of the last model answer. */
  last?: CodexTokenCounts
  modelContextWindow?: number | null
  [key: string]: unknown
}

export interface CodexTokenCounts {
  totalTokens?: number
  inputTokens?: number
  cachedInputTokens?: number
  cacheWriteInputTokens?: number
  outputTokens?: number
  reasoningOutputTokens?: number
  [key: string]: unknown
}
