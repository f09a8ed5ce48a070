import type { Server } from 'node:http'
import { type Place, placeOf, urlHost } from '../guard/places.ts'
import { isLoopback } from '../system/check-binding.ts'
import type { TlsFiles } from './http-server.ts'
import { listen, MAX_PORT } from './listen.ts'

export interface DoorOptions {
  host: string
  /** The first to try; 0 takes any. */
  port: number
  tls?: TlsFiles
  publicOrigins?: string[]
  create: (tls?: TlsFiles) => Server
}

export interface Doors {
  servers: readonly Server[]
  port: number
  /** Where programs of this machine reach it. */
  url: string
  /** Where browsers do. */
  pageUrl: string
  place: Place
}

/**
 * Listens where it is told to, and where that is of no use to the user's own programs, on loopback as well. They would have to
 * trust a certificate that is for another name, or send the token over the network.
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
    ...{ port, tls: tls !== undefined, publicOrigins },
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

/** Whether the user's own programs cannot use what others use. */
export function needsInnerDoor(host: string, tls?: TlsFiles): boolean {
  return tls !== undefined || !(isLoopback(host) || host in WILDCARDS)
}

/** Where this machine reaches a server that listens on `address`: a wildcard is not a name that anybody is reached under. */
function ownHost(address: string): string {
  return urlHost(WILDCARDS[address] ?? address)
}

const WILDCARDS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** Not the same one: some systems would let it take over what a wildcard has. */
function nextPort(preferred: number, port: number): number {
  return preferred === 0 || port === MAX_PORT ? 0 : port + 1
}

function joined(one: Place, other: Place): Place {
  return {
    hosts: new Set([...one.hosts, ...other.hosts]),
    origins: new Map([...one.origins, ...other.origins]),
  }
}
