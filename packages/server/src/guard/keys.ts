import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { TokenVerdict } from './guard.ts'

/** The token of one start of the server, and the secrets that can be traded for it once. */
export class Keys {
  readonly token = newSecret()
  readonly #tokenDigest = digest(this.token)
  #signInDigests: Buffer[] = []

  /** What an `Authorization` header is worth. */
  judgeHeader(authorization: string | undefined): TokenVerdict {
    if (authorization === undefined) return 'none'
    const given = /^Bearer ([A-Za-z0-9_-]{1,128})$/.exec(authorization)?.[1]
    return given !== undefined && this.isToken(given) ? 'valid' : 'wrong'
  }

  isToken(given: string): boolean {
    return timingSafeEqual(digest(given), this.#tokenDigest)
  }

  /** A secret for a link. The oldest unused one goes when there are too many. */
  newSignInSecret(): string {
    const secret = newSecret()
    this.#signInDigests = [...this.#signInDigests, digest(secret)].slice(-MAX_SIGN_IN_SECRETS)
    return secret
  }

  /** The token, for a secret that was not used before. */
  signIn(secret: string): string | undefined {
    const given = digest(secret)
    // All are compared, so that the time tells nothing about which one it was.
    const matches = this.#signInDigests.filter(known => timingSafeEqual(known, given))
    if (matches.length === 0) return undefined
    this.#signInDigests = this.#signInDigests.filter(known => !matches.includes(known))
    return this.token
  }
}

const SECRET_BYTES = 32
const MAX_SIGN_IN_SECRETS = 16

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** Digests have one length, whatever was given: comparing them takes the same time. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
