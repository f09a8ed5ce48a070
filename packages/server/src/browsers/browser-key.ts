import { createPublicKey, type KeyObject, verify } from 'node:crypto'

/** The public half of a browser's key, as SPKI in base64url. Undefined for anything but ECDSA on P-256. */
export function parseBrowserKey(spki: string): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(spki, 'base64url'), format: 'der', type: 'spki' })
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined
  } catch {
    return undefined
  }
}

/** What the page signs. The origin is in it: what was signed for one address is worth nothing at another. */
export function signInText(origin: string, challenge: string): string {
  return `chirality sign-in ${origin} ${challenge}`
}

export function isSignedBy(key: KeyObject, text: string, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64url')
  return verify('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, bytes)
}
