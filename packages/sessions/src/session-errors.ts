import { HarnessError, type HarnessErrorCode } from '@chirality/core'
import { PersonaError } from '@chirality/personas'
import { StorageError, type StorageErrorCode } from './files/storage-error.ts'

/** The session has a turn: wait for its end, queue the message, or interrupt it. */
export class SessionBusyError extends Error {
  readonly code = 'busy'
  readonly sessionId: string

  constructor(sessionId: string) {
    super(
      `Session ${sessionId} has a turn running. Queue the message, wait for the end, or interrupt the turn.`,
    )
    this.name = 'SessionBusyError'
    this.sessionId = sessionId
  }
}

export type SessionStartErrorCode = HarnessErrorCode | StorageErrorCode | 'persona' | 'budget'

/** Something is wrong before the start. No turn began, and nothing was spent. */
export class SessionStartError extends Error {
  readonly code: SessionStartErrorCode

  constructor(code: SessionStartErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'SessionStartError'
    this.code = code
  }
}

export function toStartError(error: unknown): SessionStartError | SessionBusyError {
  if (error instanceof SessionStartError || error instanceof SessionBusyError) return error
  if (error instanceof HarnessError || error instanceof StorageError)
    return new SessionStartError(error.code, error.message, error)
  if (error instanceof PersonaError) return new SessionStartError('persona', error.message, error)
  const message = error instanceof Error ? error.message : String(error)
  return new SessionStartError('unknown', `The turn could not be started: ${message}`, error)
}
