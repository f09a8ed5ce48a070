import type { Place } from './places.ts'

/** What a request says about itself, before a byte of its body is read. */
export interface RequestFacts {
  /** False when there may be headers that we do not see. */
  headersComplete: boolean
  method: string
  /** What is asked for: each kind is guarded in its own way. */
  kind: RouteKind
  host: string | undefined
  origin: string | undefined
  /** From browsers only, and no page can forge them. */
  fetchSite: string | undefined
  fetchMode: string | undefined
  fetchDest: string | undefined
  contentType: string | undefined
  hasBody: boolean
  token: TokenVerdict
}

/**
 * `page`: files of the dashboard and what is as public. `sign-in`: trades a secret for the token. `call`: everything that
 * reads or does something. `socket`: a WebSocket, which may bring its token in its first message.
 */
export type RouteKind = 'page' | 'sign-in' | 'call' | 'socket'

export type TokenVerdict = 'valid' | 'wrong' | 'none'

export type GuardVerdict = { allow: true } | { allow: false; status: number; reason: GuardReason }

export type GuardReason =
  | 'headers'
  | 'host'
  | 'method'
  | 'origin'
  | 'cross-site'
  | 'content-type'
  | 'token-missing'
  | 'token-wrong'

/**
 * Whether a request may go on. The one gate in front of everything: who is on loopback is not who we trust, for every page
 * in the user's browser is there, too.
 */
export function guard(facts: RequestFacts, place: Place): GuardVerdict {
  if (!facts.headersComplete) return refuse(431, 'headers')
  // A name that is not ours resolves to us only when somebody rebinds it.
  if (facts.host === undefined || !place.hosts.has(facts.host)) return refuse(403, 'host')
  if (!METHODS[facts.kind].has(facts.method)) return refuse(405, 'method')
  if (!isOwnPage(facts, place)) return refuse(403, 'origin')
  if (!isSameSite(facts)) return refuse(403, 'cross-site')
  switch (facts.kind) {
    case 'page':
      return ALLOW
    case 'sign-in':
      return isJson(facts.contentType) ? ALLOW : refuse(415, 'content-type')
    case 'call':
      if (facts.token !== 'valid') return refuseToken(facts.token)
      return facts.hasBody && !isJson(facts.contentType) ? refuse(415, 'content-type') : ALLOW
    case 'socket':
      // Browsers always send an Origin. Without one it is a program, and a program can send a header.
      if (facts.token === 'wrong' || (facts.token === 'none' && facts.origin === undefined)) {
        return refuseToken(facts.token)
      }
      return ALLOW
  }
}

const ALLOW: GuardVerdict = { allow: true }

const METHODS: Record<RouteKind, ReadonlySet<string>> = {
  page: new Set(['GET', 'HEAD']),
  'sign-in': new Set(['POST']),
  call: new Set(['GET', 'POST', 'DELETE']),
  socket: new Set(['GET']),
}

/** Or no page at all. */
function isOwnPage({ origin, host }: RequestFacts, place: Place): boolean {
  if (origin === undefined) return true
  const called = place.origins.get(origin)
  return called === null || (called !== undefined && called === host)
}

/** A link may lead to the page from anywhere: it holds no secret, and cannot be framed. */
function isSameSite({ kind, fetchSite, fetchMode, fetchDest }: RequestFacts): boolean {
  if (fetchSite === undefined || fetchSite === 'same-origin' || fetchSite === 'none') return true
  return kind === 'page' && fetchMode === 'navigate' && fetchDest === 'document'
}

/** Forms can send anything but JSON without asking first. */
function isJson(contentType: string | undefined): boolean {
  return /^application\/json(?:\s*;\s*charset=utf-8)?$/i.test(contentType ?? '')
}

function refuseToken(token: 'wrong' | 'none'): GuardVerdict {
  return refuse(401, token === 'none' ? 'token-missing' : 'token-wrong')
}

function refuse(status: number, reason: GuardReason): GuardVerdict {
  return { allow: false, status, reason }
}
