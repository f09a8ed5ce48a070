import { CodedError, type HarnessErrorCode, isCodedError } from '@chirality/core'
import type { StorageErrorCode } from '@chirality/disk'
import { PersonaError } from '@chirality/personas'
import type { DecisionErrorCode } from './decisions/ask-context.ts'
import type { ImportErrorCode } from './history/import/import-session.ts'
import type { SearchErrorCode } from './history/search/search-sessions.ts'
import type { QueueErrorCode } from './queue/queued-message.ts'

/** Why a turn did not start. Nothing was spent, and the log has nothing of it. */
export type StartErrorCode =
  | HarnessErrorCode
  | StorageErrorCode
  /** There is no such persona, or it cannot be used. */
  | 'persona'
  /** A budget is used up. */
  | 'budget'

/** Every code of an error that this package throws. */
export type SessionsErrorCode =
  | StartErrorCode
  | DecisionErrorCode
  | ImportErrorCode
  | QueueErrorCode
  | SearchErrorCode
  | 'project-locked'

/** The session has a turn: wait for its end, queue the message, or interrupt it. */
export function sessionBusy(sessionId: string): CodedError<'busy'> {
  const message = `Session ${sessionId} has a turn running. Queue the message, wait for the end, or interrupt the turn.`
  return new CodedError('busy', message)
}

/** Whatever kept a turn from starting, with a code. An expected failure has its own already; only a persona's is told as `persona`. */
export function toStartError(error: unknown): CodedError {
  if (error instanceof PersonaError) return new CodedError('persona', error.message, error)
  if (isCodedError(error)) return error
  const message = error instanceof Error ? error.message : String(error)
  return new CodedError('unknown', `The turn could not be started: ${message}`, error)
}

/** One that this package makes itself. */
export function startError(code: StartErrorCode, message: string): CodedError<StartErrorCode> {
  return new CodedError(code, message)
}
