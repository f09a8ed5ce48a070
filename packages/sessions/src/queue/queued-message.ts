import type { TurnRequest } from '../host/turn-request.ts'

/** A follow-up that waits for its turn. */
export interface QueuedMessage {
  /** Becomes the id of its turn: that is how a message that was sent is told from one that was not. */
  id: string
  message: string
  queuedAt: string
  /** Without what cannot be kept: handlers and signals. */
  request: QueuedRequest
}

export type QueuedRequest = Omit<TurnRequest, 'clientTools' | 'signal'>
