/** Under which names this server is reached. Exact strings: no pattern, no prefix, no port left open. */
export interface Place {
  hosts: ReadonlySet<string>
  origins: ReadonlySet<string>
}

export interface PlaceOptions {
  port: number
  /** Another address of this machine that the server listens on, as 127.0.0.2. */
  loopback?: string
  /** The server itself speaks TLS. */
  tls?: boolean
  /** Other names, as `https://agents.example`: of a proxy in front, or of a host that is not loopback. */
  publicOrigins?: string[]
}

export function placeOf({ port, loopback, tls = false, publicOrigins = [] }: PlaceOptions): Place {
  const scheme = tls ? 'https' : 'http'
  const names = loopback === undefined ? LOOPBACK_NAMES : [...LOOPBACK_NAMES, urlHost(loopback)]
  const origins = names.map(name => new URL(`${scheme}://${name}:${port}`))
  const all = [...origins, ...publicOrigins.flatMap(origin => parseOrigin(origin) ?? [])]
  return {
    // `URL` leaves the default port out, as browsers do.
    hosts: new Set(all.map(url => url.host)),
    origins: new Set(all.map(url => url.origin)),
  }
}

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]']

/** An address as URLs have it. */
export function urlHost(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

/** Undefined when there is anything beside scheme, name and port. */
export function parseOrigin(origin: string): URL | undefined {
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && url.origin === origin ? url : undefined
}
