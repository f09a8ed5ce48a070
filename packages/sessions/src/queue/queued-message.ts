import { CodedError } from '@chirality/core'
import type { TurnRequest } from './turn-request.ts'

/** A follow-up that waits for its turn. */
export interface QueuedMessage {
  /** Becomes the id of its turn: that is how a message that was sent is told from one that was not. */
  id: string
  message: string
  queuedAt: string
  /** Without what cannot be kept: handlers and signals. */
  request: QueuedRequest
}

/** One that was given to the turn that runs. It is kept until the agent has taken it, so that its words cannot be lost. */
export interface GivenMessage extends QueuedMessage {
  /** The log says after it, by a `user_message`, that the agent took it. */
  afterSeq: number
}

export type QueuedRequest = Omit<TurnRequest, 'clientTools' | 'signal'>

/** Why the queue cannot be changed like that. */
export type QueueErrorCode = 'queue-not-found' | 'queue-sending' | 'queue-full' | 'queue-not-keepable'

export function queueError(code: QueueErrorCode, message: string): CodedError<QueueErrorCode> {
  return new CodedError(code, message)
}
