import { isIP } from 'node:net'
import { fleetError } from '../fleet-error.ts'

/** Parses a host name or an IP address, without port or brackets. Throws an error that names the fault. */
export function parseHost(text: string): string {
  const host = text.trim().replace(/^\[(.*)\]$/, '$1')
  const isName = host.length <= MAX_HOST && NAME.test(host) && !/^[\d.]+$/.test(host)
  if (isName || isIP(host) !== 0) return host
  throw fleetError(
    'fleet-refused',
    `${shortened(text)} is no host. Give an IP address or a name that other machines can look up, such as 192.0.2.10, without a port.`,
  )
}

/** Formats host and port for an address: `192.0.2.10:4222`, `[2001:db8::1]:4222`. */
export function hostPort({ host, port }: { host: string; port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Quotes user input for a message, cut to a length that a message can hold: the input may be a whole file. */
export function shortened(text: string): string {
  return JSON.stringify(text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text)
}

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/
const MAX_HOST = 253
const MAX_SHOWN = 60
