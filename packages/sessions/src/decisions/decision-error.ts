export type DecisionErrorCode =
  /** No such request in this session. */
  | 'unknown'
  /** The agent took it back, or its turn is over. */
  | 'closed'
  | 'answered'
  /** The answer makes no sense; the request stays open. */
  | 'invalid'

/** An answer that was not taken. The message says what to do. */
export class DecisionError extends Error {
  readonly code: DecisionErrorCode

  constructor(code: DecisionErrorCode, message: string) {
    super(message)
    this.name = 'DecisionError'
    this.code = code
  }
}

export function invalid(message: string): DecisionError {
  return new DecisionError('invalid', `${message} The request stays open.`)
}
