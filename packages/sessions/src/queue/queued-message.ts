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

export type QueueErrorCode = 'not-found' | 'sending' | 'full' | 'not-keepable'

/** The queue cannot be changed like that. The message says what to do. */
export class QueueError extends Error {
  readonly code: QueueErrorCode

  constructor(code: QueueErrorCode, message: string) {
    super(message)
    this.name = 'QueueError'
    this.code = code
  }
}
