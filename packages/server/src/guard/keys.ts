import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ProgramScope } from '@chirality/centre'
import type { TokenVerdict } from './guard.ts'

/** The state of a link's secret. */
export type LinkUse = 'good' | 'used' | 'expired' | 'unknown'

/** How long a link is valid. Stated wherever one is printed. */
export const LINK_MINUTES = 10

/**
 * The tokens of one run of the server: one for the user's own programs, and one for each sign-in of a browser. Also the
 * secrets of links, each of which signs one browser in.
 */
export class Keys {
  /** For the user's programs: it is in the server's file, and belongs to no browser. */
  readonly token = newSecret()
  readonly #tokenDigest = digest(this.token)
  readonly #now: () => number
  /** By the digest of the token. A Map keeps the order of creation. */
  readonly #browserTokens = new Map<string, string>()
  /** When each browser last used a token. */
  readonly #usedAt = new Map<string, number>()
  readonly #onRevoked = new Map<string, Set<() => void>>()
  /** By the digest of the token. */
  readonly #programs = new Map<string, ProgramScope>()
  #links: Link[] = []

  constructor(now: () => number = () => Date.now()) {
    this.#now = now
  }

  /** The result of checking an `Authorization` header: for the token of a user, or for that of a program. */
  judgeHeader(authorization: string | undefined, of: 'user' | 'program' = 'user'): TokenVerdict {
    if (authorization === undefined) return 'none'
    const given = bearerOf(authorization)
    if (given === undefined) return 'wrong'
    const isKnown = of === 'user' ? this.isToken(given) : this.programOf(given) !== undefined
    return isKnown ? 'valid' : 'wrong'
  }

  /** A token for a program that uses the sessions of one project. If there are too many, the oldest is dropped. */
  newProgramToken(scope: ProgramScope): string {
    const token = newSecret()
    this.#programs.set(digest(token).toString('hex'), scope)
    for (const old of [...this.#programs.keys()].slice(0, -MAX_PROGRAMS)) this.#programs.delete(old)
    return token
  }

  programOf(token: string | undefined): ProgramScope | undefined {
    return token === undefined ? undefined : this.#programs.get(digest(token).toString('hex'))
  }

  isToken(given: string): boolean {
    const browser = this.browserOf(given)
    if (browser !== undefined) this.#usedAt.set(browser, this.#now())
    return timingSafeEqual(digest(given), this.#tokenDigest) || browser !== undefined
  }

  /** The browser with this token; undefined for the token of programs, and for an invalid one. */
  browserOf(token: string | undefined): string | undefined {
    return token === undefined ? undefined : this.#browserTokens.get(digest(token).toString('hex'))
  }

  /** A token for a browser. If it has too many, its oldest is dropped, and that page signs in again by itself. */
  newBrowserToken(browserId: string): string {
    const token = newSecret()
    this.#browserTokens.set(digest(token).toString('hex'), browserId)
    const own = [...this.#browserTokens].filter(([, owner]) => owner === browserId)
    for (const [old] of own.slice(0, -MAX_TOKENS_OF_A_BROWSER)) this.#browserTokens.delete(old)
    return token
  }

  /** When a browser last used a token in this run of the server, and whether it has something open. */
  useOf(browserId: string): { usedAt: number | undefined; isConnected: boolean } {
    const open = this.#onRevoked.get(browserId)
    return { usedAt: this.#usedAt.get(browserId), isConnected: open !== undefined && open.size > 0 }
  }

  /** Revokes every token of a browser, and closes its connections. */
  revoke(browserId: string): void {
    for (const [hash, owner] of this.#browserTokens) if (owner === browserId) this.#browserTokens.delete(hash)
    for (const listener of [...(this.#onRevoked.get(browserId) ?? [])]) listener()
    this.#onRevoked.delete(browserId)
    this.#usedAt.delete(browserId)
  }

  /** Calls back when the browser of this token is revoked. Returns the function that removes the listener. */
  whenRevoked(token: string | undefined, listener: () => void): () => void {
    const browserId = this.browserOf(token)
    if (browserId === undefined) return () => {}
    const listeners = this.#onRevoked.get(browserId) ?? new Set()
    this.#onRevoked.set(browserId, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** A secret for a link. If there are too many, the oldest is dropped. */
  newSignInSecret(): string {
    const secret = newSecret()
    const link = { digest: digest(secret), expiresAt: this.#now() + LINK_MINUTES * 60_000, used: false }
    this.#links = [...this.#links, link].slice(-MAX_LINKS)
    return secret
  }

  /** Marks the link of this secret as used. Expired ones are kept for a while, so that the error can say why. */
  useLink(secret: string): LinkUse {
    const given = digest(secret)
    // All secrets are compared, so that the duration does not reveal which one matched.
    const [link] = this.#links.filter(known => timingSafeEqual(known.digest, given))
    if (link === undefined) return 'unknown'
    if (link.used) return 'used'
    if (this.#now() >= link.expiresAt) return 'expired'
    link.used = true
    return 'good'
  }
}

interface Link {
  digest: Buffer
  expiresAt: number
  used: boolean
}

const SECRET_BYTES = 32
const MAX_LINKS = 16
const MAX_PROGRAMS = 256
const MAX_TOKENS_OF_A_BROWSER = 64

/** The token of an `Authorization` header that has the form of one. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^Bearer ([A-Za-z0-9_-]{1,128})$/.exec(authorization ?? '')?.[1]
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** Digests have one length for every input, so a comparison always takes the same time. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
