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
