import { isIP } from 'node:net'
import { createSecureContext } from 'node:tls'
import { CodedError } from '@chirality/core'
import { parseOrigin } from '../guard/places.ts'
import type { TlsFiles } from './http-server.ts'

/** Confirms that other machines may reach the server, and how access is protected: TLS here, or a proxy in front. */
export type Exposed = { tls: TlsFiles } | { proxy: true; address?: string }

export interface Binding {
  host?: string
  exposed?: Exposed
  publicOrigins?: string[]
}

/** The options would let others in without anything that keeps them out. */
function unsafeBinding(message: string): CodedError<ListenErrorCode> {
  return new CodedError('unsafe-binding', message)
}

/** Why the server does not listen. */
export type ListenErrorCode = 'unsafe-binding' | 'cannot-listen'

/** Whoever reaches the server has the user's shell, so it stays on loopback unless its user says twice otherwise. */
export function checkBinding({ host = '127.0.0.1', exposed, publicOrigins = [] }: Binding): void {
  for (const origin of publicOrigins) {
    if (parseOrigin(origin) !== undefined) continue
    throw unsafeBinding(
      `${JSON.stringify(origin)} is not an origin. Write scheme and name only, as in https://agents.example.`,
    )
  }
  if (exposed && 'tls' in exposed) checkTls(exposed.tls)
  if (exposed && 'proxy' in exposed && exposed.address !== undefined && isIP(exposed.address) === 0)
    throw unsafeBinding(`${JSON.stringify(exposed.address)} is not the IP address of a proxy.`)
  if (isLoopback(host)) return
  if (exposed === undefined) {
    throw unsafeBinding(
      `${host} would let others reach this server, and with it your shell. If you mean it, say so and give a TLS certificate, or name the proxy that speaks TLS in front.`,
    )
  }
  if (publicOrigins.length === 0) {
    throw unsafeBinding(
      'Name the address that browsers use, such as https://agents.example: requests for any other are refused.',
    )
  }
  const plain = publicOrigins.find(origin => !origin.startsWith('https://'))
  if (plain !== undefined) throw unsafeBinding(`${plain} is not encrypted. Beyond loopback it must be https.`)
}

/** The addresses of the proxies in front, whose `X-Forwarded-For` is believed. */
export function proxiesOf({ exposed, publicOrigins = [] }: Binding): ReadonlySet<string> {
  if (publicOrigins.length === 0 || (exposed && 'tls' in exposed)) return new Set()
  const named = exposed?.address === undefined ? [] : [exposed.address]
  return new Set(['127.0.0.1', '::1', ...named])
}

function checkTls(tls: TlsFiles): void {
  try {
    createSecureContext({ cert: tls.cert, key: tls.key })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw unsafeBinding(
      `The certificate and its key cannot be used (${why}). Give both as PEM, the key without a passphrase.`,
    )
  }
}

/** `localhost` is what the resolver returns, which need not be loopback: only addresses count, and that one name. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true
  switch (isIP(host)) {
    case 4:
      return host.startsWith('127.')
    case 6:
      return host === '::1'
    default:
      return false
  }
}
