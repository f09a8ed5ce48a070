import { errnoOf } from '@chirality/disk'

/** The API returned an error, or the connection to it failed. */
export class ApiError extends Error {
  /** The HTTP status, or the equivalent of an error inside a stream. Undefined when there was no response. */
  readonly status: number | undefined
  /** The API's own name: `overloaded_error`, `rate_limit_error` …; `connection_error` when there was no response. */
  readonly type: string
  readonly requestId: string | undefined
  /** The waiting time that the API requested. */
  readonly retryAfterMs: number | undefined
  /** The API's `x-should-retry` header. */
  readonly shouldRetry: boolean | undefined
  /** For an error that many more attempts do not help. */
  readonly maxRetries: number

  constructor(message: string, facts: ApiErrorFacts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.name = 'ApiError'
    this.status = facts.status
    this.type = facts.type
    this.requestId = facts.requestId
    this.retryAfterMs = facts.retryAfterMs
    this.shouldRetry = facts.shouldRetry
    this.maxRetries = facts.maxRetries ?? Number.POSITIVE_INFINITY
  }

  /** Whether the same request may succeed later. */
  get isPassing(): boolean {
    if (this.shouldRetry !== undefined) return this.shouldRetry
    if (this.type === CONNECTION_ERROR) return true
    const { status } = this
    return status !== undefined && (status === 408 || status === 409 || status === 429 || status >= 500)
  }
}

export interface ApiErrorFacts {
  status?: number | undefined
  type: string
  requestId?: string | undefined
  retryAfterMs?: number | undefined
  shouldRetry?: boolean | undefined
  maxRetries?: number
  cause?: unknown
}

export const CONNECTION_ERROR = 'connection_error'

/** Reads the error from a response that is not a stream. */
export async function errorOfResponse(response: Response): Promise<ApiError> {
  const text = await readSome(response)
  const { type, message } = errorFields(parse(text))
  const { status, headers } = response
  const said = message ?? (text.trim().slice(0, MAX_TEXT_CHARS) || `HTTP ${status}`)
  const shouldRetry = headers.get('x-should-retry')
  return new ApiError(said, {
    status,
    type: type ?? 'api_error',
    requestId: headers.get('request-id') ?? undefined,
    retryAfterMs: retryAfter(headers),
    shouldRetry: shouldRetry === null ? undefined : shouldRetry === 'true',
  })
}

/** An `error` event inside a stream that started with status 200. */
export function errorOfEvent(event: unknown): ApiError {
  const { type = 'api_error', message } = errorFields(event)
  return new ApiError(message ?? 'The API ended its answer early.', { status: STATUS_OF[type] ?? 500, type })
}

export function connectionError(cause: unknown): ApiError {
  if (NO_FILES.has(errnoOf(cause) ?? '') || NO_FILES.has(errnoOf(causeOf(cause)) ?? ''))
    return new ApiError(
      'Too many open files to connect to the API. Stop some sessions or raise the limit (ulimit -n).',
      { type: CONNECTION_ERROR, maxRetries: RETRIES_WITHOUT_FILES, cause },
    )
  return new ApiError(`The connection to the API failed: ${describe(cause)}`, {
    type: CONNECTION_ERROR,
    cause,
  })
}

const NO_FILES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE'])
/** Another turn may end within seconds; otherwise a person has to do something, who must not wait for minutes. */
const RETRIES_WITHOUT_FILES = 4
const MAX_TEXT_CHARS = 500
const MAX_ERROR_BYTES = 64 * 1024

const STATUS_OF: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

/** Reads a limited part of the body: a proxy's error page can have any length. */
async function readSome(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes >= MAX_ERROR_BYTES) break
    }
  } catch {
    // The part that was read before the failure is used.
  }
  return Buffer.concat(chunks).toString()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function errorFields(body: unknown): { type?: string; message?: string } {
  const { error } = (typeof body === 'object' && body !== null ? body : {}) as { error?: unknown }
  const fields = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>
  return {
    ...(typeof fields.type === 'string' ? { type: fields.type } : {}),
    ...(typeof fields.message === 'string' ? { message: fields.message } : {}),
  }
}

function retryAfter(headers: Headers): number | undefined {
  const ms = Number.parseFloat(headers.get('retry-after-ms') ?? '')
  if (ms >= 0) return ms
  const value = headers.get('retry-after')
  if (value === null) return undefined
  const seconds = Number.parseFloat(value)
  if (seconds >= 0) return seconds * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now())
}

/** `fetch failed` does not name the reason, which is in the cause. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = causeOf(error)
  return cause instanceof Error ? cause.message || error.message : error.message
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined
}
