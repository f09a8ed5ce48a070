import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/**
 * What a browser signs to prove that it has its key. A challenge carries its own end and our seal, so that those who only ask for
 * them cost no memory; one that was answered is remembered until its end, so that nobody answers it twice.
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

  /** Whether it is one of ours that nobody has answered yet and that is not too old. Uses it up. */
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
