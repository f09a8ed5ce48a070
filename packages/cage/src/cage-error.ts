/** The agent was not started, because it would not have been held. The message says what to do. */
export class CageError extends Error {
  readonly code: CageErrorCode

  constructor(code: CageErrorCode, message: string) {
    super(message)
    this.name = 'CageError'
    this.code = code
  }
}

export type CageErrorCode =
  | 'program-missing'
  | 'system-unsupported'
  | 'folder-unsuitable'
  | 'login-exposed'
  | 'not-held'
