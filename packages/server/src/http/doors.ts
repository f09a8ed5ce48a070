import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CodedError } from '@chirality/core'
import { type Place, placeOf, urlHost } from '../guard/places.ts'
import { isLoopback, type ListenErrorCode } from './check-binding.ts'
import type { TlsFiles } from './http-server.ts'

export interface DoorOptions {
  host: string
  /** The first port to try; 0 takes any. */
  port: number
  tls?: TlsFiles
  publicOrigins?: string[]
  create: (tls?: TlsFiles) => Server
}

export interface Doors {
  servers: readonly Server[]
  port: number
  /** The address for programs of this machine. */
  url: string
  /** The address for browsers. */
  pageUrl: string
  place: Place
}

/**
 * Listens on the given address and, if the user's own programs cannot use that, on loopback as well. Otherwise they
 * would have to trust a certificate for another name, or send the token over the network.
 */
export async function openDoors({
  host,
  port: preferred,
  tls,
  publicOrigins,
  create,
}: DoorOptions): Promise<Doors> {
  const server = create(tls)
  const port = await listen(server, { host, port: preferred })
  const url = `${tls ? 'https' : 'http'}://${ownHost(host)}:${port}`
  const place = placeOf({
    port,
    tls: tls !== undefined,
    publicOrigins,
    loopback: isLoopback(host) ? host : undefined,
  })
  const doors = { servers: [server], port, url, place, pageUrl: publicOrigins?.[0] ?? url }
  if (!needsInnerDoor(host, tls)) return doors
  const inner = create()
  try {
    const innerPort = await listen(inner, { host: INNER_HOST, port: nextPort(preferred, port) })
    return {
      ...doors,
      servers: [server, inner],
      url: `http://${INNER_HOST}:${innerPort}`,
      place: joined(place, placeOf({ port: innerPort })),
    }
  } catch (error) {
    server.close()
    throw error
  }
}

const INNER_HOST = '127.0.0.1'

/** Whether the user's own programs cannot use the public address. */
export function needsInnerDoor(host: string, tls?: TlsFiles): boolean {
  return tls !== undefined || !(isLoopback(host) || host in WILDCARDS)
}

/** The address at which this machine reaches a server that listens on `address`: a wildcard cannot be connected to. */
function ownHost(address: string): string {
  return urlHost(WILDCARDS[address] ?? address)
}

const WILDCARDS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** Another port: some systems would let a second listener take over a part of a wildcard's. */
function nextPort(preferred: number, port: number): number {
  return preferred === 0 || port === MAX_PORT ? 0 : port + 1
}

function joined(one: Place, other: Place): Place {
  return {
    hosts: new Set([...one.hosts, ...other.hosts]),
    origins: new Map([...one.origins, ...other.origins]),
  }
}

interface ListenOptions {
  host: string
  /** Tried first, then the following ones. 0 takes any. */
  port: number
  /** How many ports to try. */
  attempts?: number
}

/** Listens on the preferred port or on one near it, and returns it. */
export async function listen(
  server: Server,
  { host, port, attempts = ATTEMPTS }: ListenOptions,
): Promise<number> {
  const last = port === 0 ? 0 : Math.min(port + attempts - 1, MAX_PORT)
  for (let candidate = port; candidate <= last; candidate += 1) {
    const bound = await tryPort(server, host, candidate)
    if (bound !== undefined) return bound
  }
  throw cannotListen(`Ports ${port} to ${last} of ${host} are all in use. Name another one with --port.`)
}

function cannotListen(message: string): CodedError<ListenErrorCode> {
  return new CodedError('cannot-listen', message)
}

const ATTEMPTS = 20
export const MAX_PORT = 65_535

/** Undefined if another program uses it. */
function tryPort(server: Server, host: string, port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      server.off('listening', onListening)
      if (error.code === 'EADDRINUSE') resolve(undefined)
      else reject(cannotListen(`Cannot listen on ${host}:${port}: ${error.message}.`))
    }
    const onListening = () => {
      server.off('error', onError)
      resolve((server.address() as AddressInfo).port)
    }
    server.once('error', onError).once('listening', onListening).listen({ host, port, exclusive: true })
  })
}
