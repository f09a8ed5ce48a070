import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

export interface Refusal {
  status: 401 | 403 | 404
  message: string
}

export interface Expected {
  /** The expected `Host` header. */
  host: string
  path: string
  /** Undefined: no token is required. */
  isToken?: (candidate: string) => boolean
}

/**
 * Decides from the headers alone, before the body is read, whether to refuse a request. A web page can reach loopback,
 * but its browser sends an Origin header, and after DNS rebinding a foreign Host.
 */
export function refuse(
  request: Pick<IncomingMessage, 'method' | 'url' | 'headersDistinct'>,
  expected: Expected,
): Refusal | undefined {
  const { host, origin, authorization } = request.headersDistinct
  if (host?.length !== 1 || host[0] !== expected.host) {
    return { status: 403, message: 'The Host header names another server.' }
  }
  if (origin !== undefined) return { status: 403, message: 'Requests from web pages are refused.' }
  if (request.url !== expected.path || !METHODS.has(request.method ?? '')) {
    return { status: 404, message: 'There is no such path.' }
  }
  if (expected.isToken && !expected.isToken(bearer(authorization))) {
    return { status: 401, message: 'The bearer token is missing or wrong.' }
  }
  return undefined
}

const METHODS = new Set(['POST', 'GET', 'DELETE'])

function bearer(authorization: string[] | undefined): string {
  if (authorization?.length !== 1) return ''
  return /^bearer ([\w-]+)$/i.exec(authorization[0] ?? '')?.[1] ?? ''
}

export interface BearerToken {
  value: string
  /** Takes the same time for every wrong token, independent of its length and of how much of it matches. */
  matches: (candidate: string) => boolean
}

export function createBearerToken(): BearerToken {
  const value = randomBytes(TOKEN_BYTES).toString('base64url')
  const expected = digest(value)
  return { value, matches: candidate => timingSafeEqual(digest(candidate), expected) }
}

const TOKEN_BYTES = 32

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
