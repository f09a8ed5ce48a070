import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { isIP } from 'node:net'

export interface Certificate {
  /** PEM. */
  cert: string
  /** PEM, PKCS #8. */
  key: string
}

/**
 * Makes a certificate for a broker. Machines accept exactly this certificate, or the one that issued it. Written here
 * because Node makes none and `openssl` is not on every machine.
 */
export function makeCertificate(
  hosts: readonly string[],
  issuer?: Certificate,
  now = new Date(),
): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const nameOf = (text: string) => sequence(set(sequence(oid('550403'), utf8(text))))
  const signs = nameOf('Chirality fleet')
  const own = issuer === undefined ? signs : nameOf(`Chirality fleet ${hosts[0]}`)
  const algorithm = sequence(oid('2a8648ce3d040302'))
  const from = new Date(now.getTime() - DAY_MS)
  const until = new Date(now.getTime() + YEARS * 365 * DAY_MS)
  const mayIssue = issuer === undefined ? sequence(der(0x01, Buffer.of(0xff))) : sequence()
  const extensions = sequence(
    sequence(oid('551d13'), der(0x01, Buffer.of(0xff)), octets(mayIssue)),
    sequence(oid('551d11'), octets(sequence(...hosts.map(alternativeName)))),
  )
  const serial = randomBytes(16)
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, serial),
    algorithm,
    signs,
    sequence(time(from), time(until)),
    own,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  )
  const signature = sign('sha256', body, issuer === undefined ? privateKey : createPrivateKey(issuer.key))
  const bits = der(0x03, Buffer.concat([Buffer.of(0), signature]))
  const cert = pem('CERTIFICATE', sequence(body, algorithm, bits))
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

const DAY_MS = 86_400_000
const YEARS = 10

/** Fingerprint that a person compares on two machines. */
export function certificateFingerprint(cert: string): string {
  return new X509Certificate(cert).fingerprint256
}

/** Fingerprint of a machine's public key, short enough to compare by eye. */
export function keyFingerprint(publicKey: string): string {
  const digest = createHash('sha256').update(publicKey).digest('hex').slice(0, 20)
  return digest.replace(/(....)(?=.)/g, '$1-')
}

function alternativeName(host: string): Buffer {
  const kind = isIP(host)
  if (kind === 0) return der(0x82, Buffer.from(host, 'ascii'))
  return der(0x87, kind === 4 ? Buffer.from(host.split('.').map(Number)) : ipv6(host))
}

function ipv6(host: string): Buffer {
  const [head = '', tail] = host.split('::')
  const groups = (text: string) => text.split(':').filter(Boolean)
  const first = groups(head)
  const last = tail === undefined ? [] : groups(tail)
  const all = [...first, ...new Array<string>(8 - first.length - last.length).fill('0'), ...last]
  return Buffer.from(all.map(group => group.padStart(4, '0')).join(''), 'hex')
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size =
    length < 0x80
      ? Buffer.of(length)
      : length < 0x100
        ? Buffer.of(0x81, length)
        : Buffer.of(0x82, length >> 8, length & 0xff)
  return Buffer.concat([Buffer.of(tag), size, content])
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts))
}

function set(...parts: Buffer[]): Buffer {
  return der(0x31, Buffer.concat(parts))
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

function utf8(text: string): Buffer {
  return der(0x0c, Buffer.from(text))
}

function octets(content: Buffer): Buffer {
  return der(0x04, content)
}

/** UTCTime until 2049 and GeneralizedTime after it, as X.509 demands. */
function time(date: Date): Buffer {
  const digits = `${date.toISOString().replace(/[-:T]|\.\d+/g, '')}`
  return date.getUTCFullYear() < 2050
    ? der(0x17, Buffer.from(digits.slice(2)))
    : der(0x18, Buffer.from(digits))
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
