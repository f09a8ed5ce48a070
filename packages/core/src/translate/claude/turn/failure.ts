import type { SessionErrorCode, TurnEndReason } from '../../../events/ui-event.ts'
import type { ClaudeResultEvent } from '../../../native/claude/other-events.ts'
import { asNumber, asStrings, asText } from '../../../native/loose.ts'
import type { TranslatorState } from '../state.ts'

export interface ClaudeFailure {
  code: SessionErrorCode
  error: string
  apiStatus: number | undefined
}

/**
 * The cause of a failure, from the most specific sign to the least; the wording comes last, because it changes between
 * versions.
 */
export function describeClaudeFailure(state: TranslatorState, result: ClaudeResultEvent): ClaudeFailure {
  const { failure } = state
  // 2.1.197 drops the status once it gives up; the retries before that had it.
  const retry = failure ? state.lastRetry : null
  const apiStatus = asNumber(result.api_error_status) ?? failure?.status ?? retry?.status
  const text = failureText(result)
  const code =
    SUBTYPE_CODES.get(result.subtype) ??
    TERMINAL_CODES.get(result.terminal_reason) ??
    (wasAborted(state, result) ? 'interrupted' : undefined) ??
    (result.stop_reason === 'refusal' ? 'refused' : undefined) ??
    ERROR_CODES.get(failure?.error) ??
    codeOfStatus(apiStatus) ??
    ERROR_CODES.get(retry?.error) ??
    TEXT_CODES.find(([pattern]) => pattern.test(text))?.[1] ??
    (failure || result.terminal_reason === 'api_error' ? 'api_error' : 'unknown')
  return { code, error: text || DEFAULT_TEXTS[code] || 'The agent failed and did not say why', apiStatus }
}

export function endReason(code: SessionErrorCode): TurnEndReason {
  if (code === 'max_turns' || code === 'interrupted') return code
  return code === 'budget_exceeded' ? 'budget' : 'failed'
}

/** Two signs, because up to 2.1.86 a turn that was stopped or ran into a limit says `is_error: false`. */
export function hasFailed({ is_error, subtype }: ClaudeResultEvent): boolean {
  return is_error === true || (typeof subtype === 'string' && subtype.startsWith('error_'))
}

/** Those releases state no reason either; the only sign is their message to the model. */
export function wasAborted(state: TranslatorState, result: ClaudeResultEvent): boolean {
  if (TERMINAL_CODES.get(result.terminal_reason) === 'interrupted') return true
  return (
    state.isInterrupted && result.terminal_reason === undefined && result.subtype === 'error_during_execution'
  )
}

function failureText(result: ClaudeResultEvent): string {
  const errors = asStrings(result.errors).filter(error => !error.startsWith(DIAGNOSTIC))
  return errors.length > 0 ? errors.join('; ') : (asText(result.result) ?? '')
}

function codeOfStatus(status: number | undefined): SessionErrorCode | undefined {
  if (status === undefined) return undefined
  return (
    STATUS_CODES.get(status) ?? (status >= 500 ? 'api_error' : status >= 400 ? 'invalid_request' : undefined)
  )
}

/** Notes of the CLI to its authors, as in `[ede_diagnostic] result_type=user …`. */
const DIAGNOSTIC = '[ede_diagnostic]'

type Codes = ReadonlyMap<unknown, SessionErrorCode>

const SUBTYPE_CODES: Codes = new Map([
  ['error_max_turns', 'max_turns'],
  ['error_max_budget_usd', 'budget_exceeded'],
  ['error_max_structured_output_retries', 'structured_output'],
])

/** Only the reasons that are more specific than the signs after them: `api_error` and `completed` are not. */
const TERMINAL_CODES: Codes = new Map([
  ['aborted_streaming', 'interrupted'],
  ['aborted_tools', 'interrupted'],
  ['blocking_limit', 'context_overflow'],
  ['budget_exhausted', 'budget_exceeded'],
  ['image_error', 'invalid_request'],
  ['max_turns', 'max_turns'],
  ['prompt_too_long', 'context_overflow'],
  ['rapid_refill_breaker', 'context_overflow'],
  ['structured_output_retry_exhausted', 'structured_output'],
])

/** `server_error` and `unknown` are left out: an HTTP status is more specific. */
const ERROR_CODES: Codes = new Map([
  ['account_on_hold', 'auth_failed'],
  ['authentication_failed', 'auth_failed'],
  ['billing_error', 'billing'],
  ['cloud_credential_error', 'auth_failed'],
  ['invalid_request', 'invalid_request'],
  ['max_output_tokens', 'api_error'],
  ['model_not_found', 'model_not_found'],
  ['oauth_org_not_allowed', 'auth_failed'],
  ['overloaded', 'overloaded'],
  ['rate_limit', 'rate_limited'],
  ['verification_required', 'auth_failed'],
])

const STATUS_CODES: Codes = new Map<number, SessionErrorCode>([
  [401, 'auth_failed'],
  [402, 'billing'],
  [403, 'auth_failed'],
  [404, 'model_not_found'],
  [429, 'rate_limited'],
  [529, 'overloaded'],
])

const TEXT_CODES: readonly (readonly [RegExp, SessionErrorCode])[] = [
  [
    /no conversation found|valid session id or session title|no message found with message\.uuid/i,
    'session_not_found',
  ],
  [/not logged in|invalid api key|\/login/i, 'auth_failed'],
  [/credit balance/i, 'billing'],
  [/prompt is too long/i, 'context_overflow'],
  [/overloaded/i, 'overloaded'],
]

const DEFAULT_TEXTS: Readonly<Partial<Record<SessionErrorCode, string>>> = {
  interrupted: 'Interrupted by the user',
}
