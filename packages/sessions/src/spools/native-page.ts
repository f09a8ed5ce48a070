import type { HarnessId } from '@chirality/core'

/** A line that an agent printed, as it is: mostly JSON, but nobody promises it. */
export interface NativeLine {
  /** Its place, which is also a cursor. The same line has the same id whenever it is read. */
  id: string
  turnId: string
  harness: HarnessId
  /** The name of its spool, and where in it the line begins. */
  spool: string
  offset: number
  /** How long the line is. */
  bytes: number
  text: string
  /** `text` is only its beginning. */
  cut: boolean
  /** The spool ends in it: it is still being written, or its writer died. */
  torn: boolean
}

export interface NativePage {
  /** Oldest first. */
  lines: NativeLine[]
  /** For the page before this one; null at the beginning. */
  before: string | null
  /** For what comes after, now or later; null when the session has no spool. */
  after: string | null
  /** There is more after it already. */
  more: boolean
  /** Spools that cannot be read, and why. */
  problems: { turnId: string; message: string }[]
}

export interface NativeLinesOptions {
  /** Lines that come before this place, or after it. Default: the last ones. */
  before?: string
  after?: string
  /** About how much is read; one line at least. */
  maxBytes?: number
}

/** A piece of one line. */
export interface NativeText {
  id: string
  /** Of the whole line. */
  bytes: number
  /** Where in the line the piece begins, and where the next one does; null when this was the last. */
  from: number
  text: string
  next: number | null
  torn: boolean
}

export interface NativeLineOptions {
  id: string
  /** A byte of the line: `next` of the piece before. */
  from?: number
  /** About how much of it. */
  maxBytes?: number
}
