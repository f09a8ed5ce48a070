/** What was to be imported cannot be. The message says what to do. */
export class ImportError extends Error {
  readonly code: 'not-an-export' | 'already-imported'
  /** The session that it is already. */
  readonly sessionId: string | undefined

  constructor(code: ImportError['code'], message: string, sessionId?: string) {
    super(message)
    this.name = 'ImportError'
    this.code = code
    this.sessionId = sessionId
  }
}
