import { CodedError, type HarnessErrorCode, isCodedError } from '@chirality/core'
import type { LoopErrorCode } from '@chirality/loops'
import type { PersonaErrorCode } from '@chirality/personas'
import type { SessionsErrorCode } from '@chirality/sessions'
import type { WorkspaceErrorCode } from '@chirality/workspaces'
import { ZodError } from 'zod'

/** The codes that a call can fail with: `reason` over tRPC, `code` over REST. Programs rely on these; none is renamed. */
export type CallErrorCode =
  | HarnessErrorCode
  | PersonaErrorCode
  | SessionsErrorCode
  | WorkspaceErrorCode
  | LoopErrorCode
  | OwnErrorCode

/** The codes that no package below has. */
export type OwnErrorCode =
  | 'invalid-input'
  | 'internal'
  | 'no-project'
  | 'project-not-registered'
  | 'project-reserved'
  | 'project-too-wide'
  | 'persona-changed'
  | 'machine-away'
  | 'machine-silent'
  | 'move-failed'
  | 'fleet-refused'

export type CallStatus = 400 | 403 | 404 | 409 | 412 | 413 | 422 | 429 | 500 | 502 | 503 | 504

/** The status of each code, as HTTP numbers it. A code that is not here is told to no caller: it hears `internal`. */
export const CALL_STATUS: Record<CallErrorCode, CallStatus> = {
  'invalid-input': 400,
  internal: 500,

  'no-project': 409,
  'project-locked': 409,
  'project-missing': 404,
  'project-not-a-directory': 400,
  'project-not-registered': 403,
  'project-reserved': 400,
  'project-too-wide': 400,

  'not-writable': 503,
  unsafe: 403,
  'no-space': 503,
  'too-many-files': 503,
  'invalid-id': 400,
  'not-found': 404,
  closed: 503,
  lost: 503,
  'cursor-ahead': 409,
  changed: 409,
  io: 503,

  auth_failed: 412,
  not_installed: 412,
  overloaded: 503,
  rate_limited: 429,
  context_overflow: 422,
  process_crashed: 502,
  aborted: 409,
  timeout: 504,
  busy: 409,
  invalid_query: 400,
  unsupported: 400,
  session_not_found: 404,
  max_turns: 412,
  budget_exceeded: 412,
  unknown: 502,

  persona: 422,
  'persona-invalid-id': 400,
  'persona-invalid-file': 422,
  'persona-not-text': 422,
  'persona-too-large': 422,
  'persona-wrong-kind': 422,
  'persona-unsafe': 403,
  'persona-missing': 404,
  'persona-unreadable': 503,
  'persona-not-writable': 503,
  'persona-project-missing': 404,
  'persona-changed': 409,

  budget: 412,
  'decision-unknown': 404,
  'decision-closed': 409,
  'decision-answered': 409,
  'decision-invalid': 400,
  'queue-not-found': 404,
  'queue-sending': 409,
  'queue-full': 409,
  'queue-not-keepable': 400,
  'import-not-an-export': 400,
  'import-already-imported': 409,
  'search-empty': 400,
  'search-too-long': 400,

  'turn-missing': 404,
  'file-missing': 404,
  'file-unreadable': 403,
  'not-a-file': 400,
  'not-a-folder': 400,
  'outside-project': 403,
  'too-large': 413,
  'git-missing': 412,
  'git-failed': 422,
  'worktree-refused': 412,
  'worktree-missing': 404,
  'worktree-exists': 409,
  'review-refused': 409,
  'review-missing': 404,
  'blame-refused': 422,
  'bad-list': 422,
  'loop-refused': 409,
  'loop-missing': 404,
  'loop-running': 409,
  'bad-receipt': 422,
  'schedule-refused': 409,
  'schedule-missing': 404,

  'machine-away': 503,
  'machine-silent': 504,
  'move-failed': 409,
  'fleet-refused': 403,
}

/** The error of a call that cannot be done, in words for its caller. */
export function callError(code: CallErrorCode, message: string, cause?: unknown): CodedError<CallErrorCode> {
  return new CodedError(code, message, cause)
}

/** The refusal of a call that is answered only on the machine that has the session. */
export function elsewhere(machine: string): CodedError<CallErrorCode> {
  return callError(
    'unsupported',
    `This session is on the machine ${machine}. Open the dashboard there to do that.`,
  )
}

/**
 * An error as the caller gets it. Errors of Chirality's own packages keep their message; the text of any other error is
 * withheld, because it may contain anything.
 */
export function toCallError(error: unknown): CodedError<CallErrorCode> {
  if (isCallError(error)) return error
  if (error instanceof ZodError) return callError('invalid-input', describeProblems(error), error)
  return callError('internal', INTERNAL, error)
}

function isCallError(error: unknown): error is CodedError<CallErrorCode> {
  return isCodedError(error) && Object.hasOwn(CALL_STATUS, error.code)
}

const INTERNAL = 'Something is wrong in the server itself. Its output says what.'

/** The problems of an input, in one line: where each is, and what would be right. */
export function describeProblems({ issues }: ZodError): string {
  const shown = issues.slice(0, MAX_SHOWN).map(({ path, message }) => {
    const place = path.map(String).join('.')
    return place === '' ? message : `${place}: ${message}`
  })
  const more = issues.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}

const MAX_SHOWN = 5
