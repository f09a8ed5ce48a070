/** What the server process of the benchmarks is told to do. It answers each with one `Reply`. */
export type Command =
  /** A session whose log holds so many events. */
  | { do: 'import'; events: number }
  | { do: 'create'; title: string }
  | { do: 'delete'; sessionId: string }
  /** A turn that writes `text`; answers when it is over. */
  | { do: 'stream'; sessionId: string; plan: StreamPlan }
  /** The same in several sessions at once. */
  | { do: 'stream-all'; sessionIds: string[]; plan: StreamPlan }

export interface StreamPlan {
  text: string
  deltaChars: number
  perSecond: number
  /** Use a tool after so many pieces, and go on in a new text. */
  toolEvery?: number
  /** Mark each piece, so that it can be found in the page. */
  marked?: boolean
}

export interface Reply {
  url?: string
  token?: string
  sessionId?: string
  /** When each piece was given to the host, by `Date.now()`. */
  sentAt?: number[]
  logBytes?: number
}

/** Stands in front of a marked piece. Not a sign of Markdown, and never in the text itself. */
export const MARK = '§'
