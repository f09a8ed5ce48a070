import type { Place } from './places.ts'

/** The facts about a request that are known before its body is read. */
export interface RequestFacts {
  /** False if there may be headers that node dropped. */
  headersComplete: boolean
  method: string
  /** The kind of request: each has its own rules. */
  kind: RouteKind
  host: string | undefined
  origin: string | undefined
  /** Sent by browsers only; a page cannot forge them. */
  fetchSite: string | undefined
  fetchMode: string | undefined
  fetchDest: string | undefined
  contentType: string | undefined
  hasBody: boolean
  token: TokenVerdict
}

/**
 * `page`: files of the dashboard and other public answers. `sign-in`: exchanges a secret for a token. `call`:
 * everything that reads or changes something. `socket`: a WebSocket, which may send its token in its first message.
 * `device`: exchanges the cookie of a device for a token, the only request that carries a cookie. `program`: needs the
 * token of a program, which is accepted nowhere else, and no other token.
 */
export type RouteKind = 'page' | 'sign-in' | 'device' | 'call' | 'socket' | 'program'

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
 * Whether a request is accepted. The only gate in front of everything: a request from loopback is not trusted, because
 * every page in the user's browser comes from there too.
 */
export function guard(facts: RequestFacts, place: Place): GuardVerdict {
  if (!facts.headersComplete) return refuse(431, 'headers')
  // A foreign host name resolves to this server only after DNS rebinding.
  if (facts.host === undefined || !place.hosts.has(facts.host)) return refuse(403, 'host')
  if (!METHODS[facts.kind].has(facts.method)) return refuse(405, 'method')
  if (!isOwnPage(facts, place)) return refuse(403, 'origin')
  if (!isSameSite(facts)) return refuse(403, 'cross-site')
  switch (facts.kind) {
    case 'page':
      return ALLOW
    case 'sign-in':
      return isJson(facts.contentType) ? ALLOW : refuse(415, 'content-type')
    case 'device':
      // Browsers send the cookie by themselves, so the page has to be named: browsers name it in every POST.
      if (facts.origin === undefined) return refuse(403, 'origin')
      return isJson(facts.contentType) ? ALLOW : refuse(415, 'content-type')
    case 'call':
      if (facts.token !== 'valid') return refuseToken(facts.token)
      return facts.hasBody && !isJson(facts.contentType) ? refuse(415, 'content-type') : ALLOW
    case 'program':
      // No page is a program, not even the dashboard.
      if (facts.origin !== undefined) return refuse(403, 'origin')
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
  device: new Set(['POST']),
  call: new Set(['GET', 'POST', 'DELETE']),
  socket: new Set(['GET']),
  program: new Set(['GET', 'POST', 'DELETE']),
}

/** Or no Origin at all. */
function isOwnPage({ origin, host }: RequestFacts, place: Place): boolean {
  if (origin === undefined) return true
  const called = place.origins.get(origin)
  return called === null || (called !== undefined && called === host)
}

/** Any site may link to the page: it contains no secret, and cannot be framed. */
function isSameSite({ kind, fetchSite, fetchMode, fetchDest }: RequestFacts): boolean {
  if (fetchSite === undefined || fetchSite === 'same-origin' || fetchSite === 'none') return true
  return kind === 'page' && fetchMode === 'navigate' && fetchDest === 'document'
}

/** Without a preflight, forms can send any content type but JSON. */
function isJson(contentType: string | undefined): boolean {
  return /^application\/json(?:\s*;\s*charset=utf-8)?$/i.test(contentType ?? '')
}

function refuseToken(token: 'wrong' | 'none'): GuardVerdict {
  return refuse(401, token === 'none' ? 'token-missing' : 'token-wrong')
}

function refuse(status: number, reason: GuardReason): GuardVerdict {
  return { allow: false, status, reason }
}
