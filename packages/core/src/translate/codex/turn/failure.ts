import type { SessionErrorCode } from '../../../events/ui-event.ts'
import { asNumber, asObject, asText, isObject, type JsonObject } from '../../../native/loose.ts'
import type { PendingFailure } from '../state.ts'

export interface CodexFailure {
  code: SessionErrorCode
  error: string
  apiStatus: number | undefined
}

/**
 * The cause of a failure, from the most reliable source to the least: app-server's name, the HTTP status, the model
 * API's error, and the message text. `exec` has only the text, which should give the same code where possible.
 */
export function describeCodexFailure(failure: PendingFailure): CodexFailure {
  const { message, info } = failure
  const text = textOf(failure)
  const wording = text.slice(0, WORDING_CHARS)
  const body = apiError(message)
  const { name, httpStatus } = readInfo(info)
  const apiStatus = httpStatus ?? statusInText(wording)
  const code =
    codeOfInfo(name, wording) ??
    codeOfStatus(apiStatus) ??
    API_CODES.get(asText(body?.code) ?? '') ??
    API_CODES.get(asText(body?.type) ?? '') ??
    TEXT_CODES.find(([pattern]) => pattern.test(wording))?.[1] ??
    (name && CONNECTION_INFOS.has(name) ? 'api_error' : body ? 'invalid_request' : 'unknown')
  return { code, error: asText(body?.message) ?? (text || 'The agent failed and did not say why'), apiStatus }
}

/** `exec` has already joined the two. */
export function textOf({ message, details }: PendingFailure): string {
  return details ? `${message} (${details})` : message
}

/** The relevant part comes first; patterns on a text of any length could be very slow. */
const WORDING_CHARS = 2000

/** The status of "unexpected status 401 Unauthorized" and "last status: 429 Too Many Requests". */
export function statusInText(text: string): number | undefined {
  const digits = /\bstatus:? (\d{3})\b/.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** `"usageLimitExceeded"`, or `{ httpConnectionFailed: { httpStatusCode: 401 } }`. */
function readInfo(info: unknown): { name: string | undefined; httpStatus: number | undefined } {
  if (!isObject(info)) return { name: asText(info), httpStatus: undefined }
  const [name, value] = Object.entries(info)[0] ?? []
  return { name, httpStatus: asNumber(asObject(value)?.httpStatusCode) }
}

function codeOfInfo(name: string | undefined, text: string): SessionErrorCode | undefined {
  if (name === 'usageLimitExceeded') return QUOTA.test(text) ? 'billing' : 'rate_limited'
  return INFO_CODES.get(name ?? '')
}

function codeOfStatus(status: number | undefined): SessionErrorCode | undefined {
  if (status === undefined || status < 400) return undefined
  return STATUS_CODES.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request')
}

/** A refused request is reported as the whole JSON body of the response. */
function apiError(message: string): JsonObject | undefined {
  if (!message.startsWith('{')) return undefined
  try {
    const body: unknown = JSON.parse(message)
    return asObject(asObject(body)?.error)
  } catch {
    return undefined
  }
}

const INFO_CODES: ReadonlyMap<string, SessionErrorCode> = new Map([
  ['badRequest', 'invalid_request'],
  ['contextWindowExceeded', 'context_overflow'],
  ['cyberPolicy', 'refused'],
  ['flexUnavailable', 'overloaded'],
  ['internalServerError', 'api_error'],
  ['misalignmentPolicyViolation', 'refused'],
  ['modelNotFound', 'model_not_found'],
  ['policyCapacityUnavailable', 'overloaded'],
  ['rateLimitExceeded', 'rate_limited'],
  ['serverOverloaded', 'overloaded'],
  ['sessionBudgetExceeded', 'budget_exceeded'],
  ['unauthorized', 'auth_failed'],
])

const CONNECTION_INFOS: ReadonlySet<string> = new Set([
  'httpConnectionFailed',
  'responseStreamConnectionFailed',
  'responseStreamDisconnected',
  'responseTooManyFailedAttempts',
])

const STATUS_CODES: ReadonlyMap<number, SessionErrorCode> = new Map([
  [401, 'auth_failed'],
  [402, 'billing'],
  [403, 'auth_failed'],
  [404, 'model_not_found'],
  [429, 'rate_limited'],
  [503, 'overloaded'],
  [529, 'overloaded'],
])

/** By the `code` and `type` of the model API's error. */
const API_CODES: ReadonlyMap<string, SessionErrorCode> = new Map([
  ['context_length_exceeded', 'context_overflow'],
  ['insufficient_quota', 'billing'],
  ['invalid_api_key', 'auth_failed'],
  ['invalid_request_error', 'invalid_request'],
  ['model_not_found', 'model_not_found'],
  ['rate_limit_exceeded', 'rate_limited'],
  ['server_error', 'api_error'],
  ['server_is_overloaded', 'overloaded'],
])

const QUOTA = /quota|billing/i

const TEXT_CODES: readonly (readonly [RegExp, SessionErrorCode])[] = [
  [QUOTA, 'billing'],
  [/usage limit|rate limit/i, 'rate_limited'],
  [/context window|context length/i, 'context_overflow'],
  [/at capacity|overloaded/i, 'overloaded'],
  [/missing environment variable|not logged in|log in again|unauthorized|api key/i, 'auth_failed'],
  [/\bmodel\b.*(does not exist|not found|not supported)/i, 'model_not_found'],
  [
    /high demand|stream disconnected|connection failed|error sending request|incomplete response/i,
    'api_error',
  ],
]
