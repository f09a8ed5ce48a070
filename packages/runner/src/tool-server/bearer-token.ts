import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

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
