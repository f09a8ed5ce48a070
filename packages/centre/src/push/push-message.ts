import {
  createCipheriv,
  createECDH,
  createPrivateKey,
  type ECDH,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
  sign,
} from 'node:crypto'

/** The keys of a browser's push subscription, in base64url. */
export interface SubscriptionKeys {
  p256dh: string
  auth: string
}

/** Encrypts a payload for one browser (RFC 8291, `aes128gcm`): the push service passes on what it cannot read. */
export function encryptPush(
  payload: string,
  { p256dh, auth }: SubscriptionKeys,
  { salt = randomBytes(16), sender = newSender() }: { salt?: Buffer; sender?: ECDH } = {},
): Buffer {
  const receiver = Buffer.from(p256dh, 'base64url')
  const own = sender.getPublicKey()
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), receiver, own])
  const key = derive(sender.computeSecret(receiver), Buffer.from(auth, 'base64url'), info, 32)
  const cipher = createCipheriv(
    'aes-128-gcm',
    derive(key, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16),
    derive(key, salt, Buffer.from('Content-Encoding: nonce\0'), 12),
  )
  const sealed = [cipher.update(payload), cipher.update(LAST_RECORD), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat([salt, RECORD_SIZE, Buffer.from([own.length]), own, ...sealed])
}

/** Undefined for keys that no browser makes: nothing could be encrypted for them. */
export function areSubscriptionKeys({ p256dh, auth }: SubscriptionKeys): boolean {
  try {
    newSender().computeSecret(Buffer.from(p256dh, 'base64url'))
    return Buffer.from(auth, 'base64url').length === 16
  } catch {
    return false
  }
}

/** The server's own key pair (VAPID, RFC 8292): a subscription takes messages of this server only. */
export interface VapidKeys {
  /** The uncompressed point, in base64url. */
  publicKey: string
  /** PKCS#8 in base64url. */
  privateKey: string
}

export function newVapidKeys(): VapidKeys {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
  return {
    publicKey: point.toString('base64url'),
    privateKey: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64url'),
  }
}

/** The `Authorization` header for a message to this push service. */
export function vapidHeader({ publicKey, privateKey }: VapidKeys, audience: string): string {
  const claims = { aud: audience, exp: Math.floor(Date.now() / 1000) + VAPID_LASTS_S, sub: CONTACT }
  const text = [{ typ: 'JWT', alg: 'ES256' }, claims]
    .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const der = Buffer.from(privateKey, 'base64url')
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
  return `vapid t=${text}.${signature.toString('base64url')}, k=${publicKey}`
}

/** Push services want a contact. The user's address is none of their business, so it is a page. */
const CONTACT = 'https://localhost/chirality'
const VAPID_LASTS_S = 12 * 60 * 60
const LAST_RECORD = Buffer.from([2])
const RECORD_SIZE = Buffer.from([0, 0, 16, 0])

function newSender(): ECDH {
  const sender = createECDH('prime256v1')
  sender.generateKeys()
  return sender
}

function derive(secret: Buffer, salt: Buffer, info: Buffer, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, info, bytes))
}
