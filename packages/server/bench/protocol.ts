export type Command =
  | { do: 'fill'; events: number }
  | { do: 'emit'; sessions: number; perSecond: number; seconds: number }
  /** Of the process so far. */
  | { do: 'usage' }

export interface Reply {
  url?: string
  token?: string
  sessionIds?: string[]
  cpuMs?: number
  rssBytes?: number
}
