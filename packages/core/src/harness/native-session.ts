import type { Envelope } from '../events/ui-event.ts'
import type { HarnessId, Session } from '../session/session.ts'

/** The part of a harness whose agent stores conversations. */
export interface NativeSessions {
  /** The conversations that the agent stores, newest first, also those that were started without Chirality. */
  listNativeSessions?(options?: ListNativeSessionsOptions): Promise<NativeSession[]>

  /** Imports one of them as a session, with its history. `cwd` is searched first. Changes nothing. */
  importSession?(nativeSessionId: string, cwd?: string): Promise<ImportedSession>

  /** The agent's own files of a conversation. Empty if it has none any more. Changes nothing. */
  conversationFiles?(place: ConversationPlace): Promise<ConversationFile[]>

  /**
   * Puts such files of another machine where the agent of this one looks for them. A file that is there and says
   * something else is kept under another name.
   */
  placeConversation?(place: ConversationPlace, files: readonly ConversationFile[]): Promise<void>
}

/** A conversation as the agent itself stores it, whichever program started it. */
export interface NativeSession {
  harness: HarnessId
  nativeSessionId: string
  /** The folder in which it was started, and has to be resumed. */
  cwd: string
  /** Given by the user or the agent, else the first message; one line. */
  title: string
  createdAt?: string
  /** Undefined if the agent does not tell. */
  updatedAt?: string
  /** The times of the agent's file. */
  sizeBytes?: number
}

/** For sorting: newest first, those without a time last. */
export function byNewest(a: Pick<NativeSession, 'updatedAt'>, b: Pick<NativeSession, 'updatedAt'>): number {
  return timeOf(b) - timeOf(a)
}

function timeOf({ updatedAt }: Pick<NativeSession, 'updatedAt'>): number {
  return updatedAt === undefined ? 0 : Date.parse(updatedAt)
}

export interface ListNativeSessionsOptions {
  /** Only conversations of this folder. Default: of every folder. */
  cwd?: string
  /** The maximum number, newest first. Default 100. */
  limit?: number
}

/** A native session as a Chirality session. `reduceSession` folds its history like any log. */
export interface ImportedSession {
  /** New, with `claudeSessionId` set: its next turn resumes the agent's conversation. */
  session: Session
  /** With the times and turns of the original. A `log:gap` marks a part that could not be read. */
  envelopes: Envelope[]
}

/** A conversation, and where its agent works. */
export interface ConversationPlace {
  nativeSessionId: string
  cwd: string
  projectRoot: string
}

/** A file in which an agent keeps a conversation, to carry it to another machine. */
export interface ConversationFile {
  /** Relative to the agent's own folder, with `/`. */
  name: string
  content: Uint8Array
}
