import type { Envelope } from '../events/ui-event.ts'
import type { HarnessId, Session } from '../session/session.ts'

/** A conversation as the agent itself keeps it, whoever started it. */
export interface NativeSession {
  harness: HarnessId
  nativeSessionId: string
  /** Where it was started, and where it has to be continued. */
  cwd: string
  /** Given by the user or the agent, else the first message; one line. */
  title: string
  createdAt?: string
  updatedAt: string
  /** Of the agent's file about it. */
  sizeBytes?: number
}

export interface ListNativeSessionsOptions {
  /** Only those of this folder. Default: of every folder. */
  cwd?: string
  /** No more than this many, the newest ones. Default 100. */
  limit?: number
}

/** A native session as one of ours. Its history folds with `reduceSession` like a log that we wrote ourselves. */
export interface ImportedSession {
  /** New, with `claudeSessionId` set: its next turn goes on where the agent stopped. */
  session: Session
  /** With the times and turns of the original. A `log:gap` stands where something could not be read. */
  envelopes: Envelope[]
}
