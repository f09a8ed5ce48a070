import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BROWSER_ID } from '@chirality/centre'

/** The value of a device's cookie: which device, and its secret. The data folder has a digest of the secret only. */
export interface DeviceCookie {
  id: string
  secret: string
}

export function newDeviceSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

export function digestOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

export function isSecretOf(digest: string, secret: string): boolean {
  const [known, given] = [Buffer.from(digest), Buffer.from(digestOfSecret(secret))]
  return known.length === given.length && timingSafeEqual(known, given)
}

/** The device cookie of a request. Undefined if there is none, if there are two, or if it has another form. */
export function readDeviceCookie({ headersDistinct }: IncomingMessage): DeviceCookie | undefined {
  const pairs = (headersDistinct.cookie ?? []).flatMap(line => line.split(';')).map(pair => pair.trim())
  const [value, ...others] = pairs.filter(pair => pair.startsWith(`${NAME}=`))
  const [, id = '', secret = ''] = /^[^=]+=([^.]+)\.([\w-]{43})$/.exec(value ?? '') ?? []
  return others.length === 0 && BROWSER_ID.test(id) ? { id, secret } : undefined
}

/**
 * The cookie is sent to one route only, which exchanges it for a token: no other request carries it, so no other can be
 * forged with it. `Secure`: it is given to pages over HTTPS only. Over plain HTTP, cookies of 127.0.0.1 go to every
 * program that listens on a port of it.
 */
export function deviceCookieHeader({ id, secret }: DeviceCookie): string {
  return `${NAME}=${id}.${secret}; Max-Age=${LASTS_S}; ${ATTRIBUTES}`
}

/** Makes the browser drop a cookie that signs nobody in any more. */
export function removeDeviceCookieHeader(): string {
  return `${NAME}=; Max-Age=0; ${ATTRIBUTES}`
}

/** Browsers take a cookie with this prefix over HTTPS only. */
const NAME = '__Secure-chirality-device'
const ATTRIBUTES = 'Path=/api/sign-in/device; Secure; HttpOnly; SameSite=Strict'
/** The longest that browsers allow. Each use starts it again. */
const LASTS_S = 400 * 24 * 60 * 60
const SECRET_BYTES = 32
