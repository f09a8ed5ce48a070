import { CodedError, type HarnessErrorCode } from '@chirality/core'
import type { LoopErrorCode } from '@chirality/loops'
import type { PersonaErrorCode } from '@chirality/personas'
import type { SessionsErrorCode } from '@chirality/sessions'
import type { WorkspaceErrorCode } from '@chirality/workspaces'
import type { TRPC_ERROR_CODE_KEY } from '@trpc/server'

/** What a call can fail with: `reason` over tRPC, `code` over REST. Programs rely on these; none is renamed. */
export type CallErrorCode =
  | HarnessErrorCode
  | PersonaErrorCode
  | SessionsErrorCode
  | WorkspaceErrorCode
  | LoopErrorCode
  | ServerErrorCode

/** Those that only the server has. */
type ServerErrorCode =
  | 'invalid-input'
  | 'internal'
  | 'project-not-registered'
  | 'project-reserved'
  | 'project-too-wide'
  | 'persona-changed'
  | 'machine-away'
  | 'machine-silent'
  | 'move-failed'
  | 'fleet-refused'

/** The status of each code. A code that is not here stays in the server: its caller hears `internal`. */
export const CALL_STATUS: Record<CallErrorCode, TRPC_ERROR_CODE_KEY> = {
  'invalid-input': 'BAD_REQUEST',
  internal: 'INTERNAL_SERVER_ERROR',

  'project-locked': 'CONFLICT',
  'project-missing': 'NOT_FOUND',
  'project-not-a-directory': 'BAD_REQUEST',
  'project-not-registered': 'FORBIDDEN',
  'project-reserved': 'BAD_REQUEST',
  'project-too-wide': 'BAD_REQUEST',

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

  persona: 'UNPROCESSABLE_CONTENT',
  'persona-invalid-id': 'BAD_REQUEST',
  'persona-invalid-file': 'UNPROCESSABLE_CONTENT',
  'persona-not-text': 'UNPROCESSABLE_CONTENT',
  'persona-too-large': 'UNPROCESSABLE_CONTENT',
  'persona-wrong-kind': 'UNPROCESSABLE_CONTENT',
  'persona-unsafe': 'FORBIDDEN',
  'persona-missing': 'NOT_FOUND',
  'persona-unreadable': 'SERVICE_UNAVAILABLE',
  'persona-not-writable': 'SERVICE_UNAVAILABLE',
  'persona-project-missing': 'NOT_FOUND',
  'persona-changed': 'CONFLICT',

  budget: 'PRECONDITION_FAILED',
  'decision-unknown': 'NOT_FOUND',
  'decision-closed': 'CONFLICT',
  'decision-answered': 'CONFLICT',
  'decision-invalid': 'BAD_REQUEST',
  'queue-not-found': 'NOT_FOUND',
  'queue-sending': 'CONFLICT',
  'queue-full': 'CONFLICT',
  'queue-not-keepable': 'BAD_REQUEST',
  'import-not-an-export': 'BAD_REQUEST',
  'import-already-imported': 'CONFLICT',
  'search-empty': 'BAD_REQUEST',
  'search-too-long': 'BAD_REQUEST',

  'turn-missing': 'NOT_FOUND',
  'file-missing': 'NOT_FOUND',
  'file-unreadable': 'FORBIDDEN',
  'not-a-file': 'BAD_REQUEST',
  'not-a-folder': 'BAD_REQUEST',
  'outside-project': 'FORBIDDEN',
  'too-large': 'PAYLOAD_TOO_LARGE',
  'git-missing': 'PRECONDITION_FAILED',
  'git-failed': 'UNPROCESSABLE_CONTENT',
  'worktree-refused': 'PRECONDITION_FAILED',
  'worktree-missing': 'NOT_FOUND',
  'worktree-exists': 'CONFLICT',
  'review-refused': 'CONFLICT',
  'review-missing': 'NOT_FOUND',
  'blame-refused': 'UNPROCESSABLE_CONTENT',
  'bad-list': 'UNPROCESSABLE_CONTENT',
  'loop-refused': 'CONFLICT',
  'loop-missing': 'NOT_FOUND',
  'loop-running': 'CONFLICT',
  'bad-receipt': 'UNPROCESSABLE_CONTENT',
  'schedule-refused': 'CONFLICT',
  'schedule-missing': 'NOT_FOUND',

  'machine-away': 'SERVICE_UNAVAILABLE',
  'machine-silent': 'GATEWAY_TIMEOUT',
  'move-failed': 'CONFLICT',
  'fleet-refused': 'FORBIDDEN',
}

/** A call that cannot be done, in words for the one who called. */
export function callError(code: CallErrorCode, message: string, cause?: unknown): CodedError<CallErrorCode> {
  return new CodedError(code, message, cause)
}

/** Something that is done only where the session is. */
export function elsewhere(machine: string): CodedError<CallErrorCode> {
  return callError(
    'unsupported',
    `This session is on the machine ${machine}. Open the dashboard there to do that.`,
  )
}

/** An answer over HTTP that is not what was asked for. */
export class HttpError extends CodedError {
  readonly status: number

  constructor(status: number, code: string, message: string) {
    // No stack is captured: it would cost as much as the rest of a refusal, and is never shown.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(code, message)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'HttpError'
    this.status = status
  }
}
