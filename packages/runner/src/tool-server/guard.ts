import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

export interface Refusal {
  status: 401 | 403 | 404
  message: string
}

export interface Expected {
  /** What a client that was given our URL sends as Host. */
  host: string
  path: string
  /** Not set: no token is asked for. */
  isToken?: (candidate: string) => boolean
}

/**
 * Whom not to talk to, decided on the headers alone, before a byte of the body is read. A page that a browser shows can
 * reach loopback: it gives itself away by its Origin, and after DNS rebinding by its Host.
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
  /** Takes the same time for every wrong token, whatever its length and however much of it is right. */
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
