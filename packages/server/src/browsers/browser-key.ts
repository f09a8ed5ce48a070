import {
  createHmac,
  createPublicKey,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
  verify,
} from 'node:crypto'

/** The public half of a browser's key, as SPKI in base64url. Undefined for anything but ECDSA on P-256. */
export function parseBrowserKey(spki: string): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(spki, 'base64url'), format: 'der', type: 'spki' })
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined
  } catch {
    return undefined
  }
}

/** The text that the page signs. It contains the origin: a signature for one address is invalid at another. */
export function signInText(origin: string, challenge: string): string {
  return `chirality sign-in ${origin} ${challenge}`
}

export function isSignedBy(key: KeyObject, text: string, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64url')
  return verify('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, bytes)
}

/**
 * The challenge that a browser signs to prove that it has its key. A challenge contains its expiry and the server's
 * seal, so that unanswered ones use no memory; an answered one is stored until its expiry, so that it cannot be
 * answered twice.
 */
export class Challenges {
  readonly #seal = randomBytes(32)
  readonly #now: () => number
  readonly #answered = new Map<string, number>()

  constructor(now: () => number = () => Date.now()) {
    this.#now = now
  }

  create(): string {
    const text = `${this.#now() + LASTS_MS}.${randomBytes(16).toString('base64url')}`
    return `${text}.${this.#sealOf(text).toString('base64url')}`
  }

  /** Whether it is the server's own, unanswered and not expired. Marks it as answered. */
  use(challenge: string): boolean {
    const match = /^((\d{1,16})\.[\w-]{22})\.([\w-]{43})$/.exec(challenge)
    if (match === null) return false
    const [, text = '', end = '', seal = ''] = match
    const now = this.#now()
    if (!timingSafeEqual(Buffer.from(seal, 'base64url'), this.#sealOf(text))) return false
    if (now >= Number(end) || this.#answered.has(text)) return false
    for (const [known, itsEnd] of this.#answered) if (now >= itsEnd) this.#answered.delete(known)
    this.#answered.set(text, Number(end))
    return true
  }

  #sealOf(text: string): Buffer {
    return createHmac('sha256', this.#seal).update(text).digest()
  }
}

const LASTS_MS = 60_000
