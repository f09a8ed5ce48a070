import { HarnessError, type HarnessErrorCode } from '@chirality/core'
import { PersonaError, type PersonaErrorCode } from '@chirality/personas'
import { SpoolError } from '@chirality/runner'
import {
  DecisionError,
  type DecisionErrorCode,
  ImportError,
  ProjectLockedError,
  QueueError,
  type QueueErrorCode,
  SearchError,
  SessionBusyError,
  SessionStartError,
  type SessionStartErrorCode,
  StorageError,
  type StorageErrorCode,
} from '@chirality/sessions'
import { type TRPC_ERROR_CODE_KEY, TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import { ZodError, type z } from 'zod'
import { CallError, HttpError } from './call-error.ts'

/**
 * An error as the caller gets it. Errors of Chirality's own packages keep their message; the text of any other error is
 * withheld, because it may contain anything.
 */
export function toCallError(error: unknown): CallError {
  if (error instanceof CallError) return error
  if (error instanceof ZodError)
    return new CallError('BAD_REQUEST', 'invalid-input', describeProblems(error), error)
  const known = knownError(error)
  if (known === undefined) return new CallError('INTERNAL_SERVER_ERROR', 'internal', INTERNAL, error)
  return new CallError(known.code, known.reason, known.message, error)
}

const INTERNAL = 'Something is wrong in the server itself. Its output says what.'

interface Known {
  code: TRPC_ERROR_CODE_KEY
  reason: string
  message: string
}

function knownError(error: unknown): Known | undefined {
  if (error instanceof SessionBusyError) return known(error, 'CONFLICT', 'busy')
  if (error instanceof SessionStartError) return known(error, START_CODES[error.code], error.code)
  if (error instanceof ProjectLockedError) return known(error, 'CONFLICT', 'project-locked')
  if (error instanceof DecisionError)
    return known(error, DECISION_CODES[error.code], `decision-${error.code}`)
  if (error instanceof QueueError) return known(error, QUEUE_CODES[error.code], `queue-${error.code}`)
  if (error instanceof ImportError) {
    const code = error.code === 'already-imported' ? 'CONFLICT' : 'BAD_REQUEST'
    return known(error, code, `import-${error.code}`)
  }
  if (error instanceof SearchError) return known(error, 'BAD_REQUEST', `search-${error.code}`)
  if (error instanceof StorageError || error instanceof SpoolError)
    return known(error, STORAGE_CODES[error.code], error.code)
  if (error instanceof PersonaError) return known(error, PERSONA_CODES[error.code], `persona-${error.code}`)
  if (error instanceof HarnessError) return known(error, HARNESS_CODES[error.code], error.code)
  return undefined
}

function known({ message }: Error, code: TRPC_ERROR_CODE_KEY, reason: string): Known {
  return { code, reason, message }
}

const DECISION_CODES: Record<DecisionErrorCode, TRPC_ERROR_CODE_KEY> = {
  unknown: 'NOT_FOUND',
  closed: 'CONFLICT',
  answered: 'CONFLICT',
  invalid: 'BAD_REQUEST',
}

const QUEUE_CODES: Record<QueueErrorCode, TRPC_ERROR_CODE_KEY> = {
  'not-found': 'NOT_FOUND',
  sending: 'CONFLICT',
  full: 'CONFLICT',
  'not-keepable': 'BAD_REQUEST',
}

const STORAGE_CODES: Record<StorageErrorCode, TRPC_ERROR_CODE_KEY> = {
  'project-missing': 'NOT_FOUND',
  'project-not-a-directory': 'BAD_REQUEST',
  'not-writable': 'SERVICE_UNAVAILABLE',
  unsafe: 'FORBIDDEN',
  'no-space': 'SERVICE_UNAVAILABLE',
  'too-many-files': 'SERVICE_UNAVAILABLE',
  'invalid-id': 'BAD_REQUEST',
  'not-found': 'NOT_FOUND',
  closed: 'SERVICE_UNAVAILABLE',
  lost: 'SERVICE_UNAVAILABLE',
  'cursor-ahead': 'CONFLICT',
  changed: 'CONFLICT',
  io: 'SERVICE_UNAVAILABLE',
}

const PERSONA_CODES: Record<PersonaErrorCode, TRPC_ERROR_CODE_KEY> = {
  'invalid-id': 'BAD_REQUEST',
  'invalid-file': 'UNPROCESSABLE_CONTENT',
  'not-text': 'UNPROCESSABLE_CONTENT',
  'too-large': 'UNPROCESSABLE_CONTENT',
  'wrong-kind': 'UNPROCESSABLE_CONTENT',
  unsafe: 'FORBIDDEN',
  missing: 'NOT_FOUND',
  unreadable: 'SERVICE_UNAVAILABLE',
  'not-writable': 'SERVICE_UNAVAILABLE',
  'project-missing': 'NOT_FOUND',
}

const HARNESS_CODES: Record<HarnessErrorCode, TRPC_ERROR_CODE_KEY> = {
  auth_failed: 'PRECONDITION_FAILED',
  not_installed: 'PRECONDITION_FAILED',
  overloaded: 'SERVICE_UNAVAILABLE',
  rate_limited: 'TOO_MANY_REQUESTS',
  context_overflow: 'UNPROCESSABLE_CONTENT',
  process_crashed: 'BAD_GATEWAY',
  aborted: 'CONFLICT',
  timeout: 'GATEWAY_TIMEOUT',
  busy: 'CONFLICT',
  invalid_query: 'BAD_REQUEST',
  unsupported: 'BAD_REQUEST',
  session_not_found: 'NOT_FOUND',
  max_turns: 'PRECONDITION_FAILED',
  budget_exceeded: 'PRECONDITION_FAILED',
  unknown: 'BAD_GATEWAY',
}

const START_CODES: Record<SessionStartErrorCode, TRPC_ERROR_CODE_KEY> = {
  ...HARNESS_CODES,
  ...STORAGE_CODES,
  persona: 'UNPROCESSABLE_CONTENT',
  budget: 'PRECONDITION_FAILED',
}

/** The error in an input, in one line: the field, and the valid form. */
export function describeProblems({ issues }: z.ZodError): string {
  const shown = issues.slice(0, MAX_SHOWN).map(({ path, message }) => {
    const place = path.map(String).join('.')
    return place === '' ? message : `${place}: ${message}`
  })
  const more = issues.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

const MAX_SHOWN = 5

interface FailedCall {
  error: TRPCError
  /** Undefined for an error in a socket or a message, which is its sender's fault. */
  path: string | undefined
}

/** Reports internal errors; every other error the caller has received in full. */
export function reportFault({ error, path }: FailedCall, onFault: (error: unknown) => void): void {
  if (path === undefined || error.code !== 'INTERNAL_SERVER_ERROR') return
  const { cause } = error
  onFault(cause instanceof Error && cause.cause !== undefined ? cause.cause : (cause ?? error))
}

export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  const { code, reason, message } = toCallError(error)
  return new HttpError(getHTTPStatusCodeFromError(new TRPCError({ code })), reason, message)
}
