import { CodedError } from '@chirality/core'
import type { TurnRequest } from './turn-request.ts'

/** A message that waits for its turn. */
export interface QueuedMessage {
  /** Becomes the id of its turn, which shows whether the message was sent. */
  id: string
  message: string
  queuedAt: string
  /** Without handlers and signals, which cannot be stored. */
  request: QueuedRequest
}

/** A message given to the running turn. Kept until the agent has taken it, so that it cannot be lost. */
export interface GivenMessage extends QueuedMessage {
  /** A `user_message` after this log position shows that the agent took it. */
  afterSeq: number
}

export type QueuedRequest = Omit<TurnRequest, 'clientTools' | 'signal'>

export type QueueErrorCode = 'queue-not-found' | 'queue-sending' | 'queue-full' | 'queue-not-keepable'

export function queueError(code: QueueErrorCode, message: string): CodedError<QueueErrorCode> {
  return new CodedError(code, message)
}
