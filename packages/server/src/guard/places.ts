/** The host names and origins of this server. Exact strings: no pattern, no prefix, no open port. */
export interface Place {
  hosts: ReadonlySet<string>
  /**
   * Each origin with the host that its pages call, or null for any of the server's: a proxy in front may replace the
   * host. A page of `localhost` never calls `127.0.0.1`; one that does comes from another program that listens on that
   * port of `::1`.
   */
  origins: ReadonlyMap<string, string | null>
}

export interface PlaceOptions {
  port: number
  /** Another address of this machine that the server listens on, as 127.0.0.2. */
  loopback?: string
  /** The server itself speaks TLS. */
  tls?: boolean
  /** Other origins, such as `https://agents.example`: of a proxy in front, or of a host that is not loopback. */
  publicOrigins?: string[]
}

export function placeOf({ port, loopback, tls = false, publicOrigins = [] }: PlaceOptions): Place {
  const scheme = tls ? 'https' : 'http'
  const names = loopback === undefined ? LOOPBACK_NAMES : [...LOOPBACK_NAMES, urlHost(loopback)]
  // `URL` omits the default port, as browsers do.
  const own = names.map(name => new URL(`${scheme}://${name}:${port}`))
  const named = publicOrigins.flatMap(origin => parseOrigin(origin) ?? [])
  return {
    hosts: new Set([...own, ...named].map(url => url.host)),
    origins: new Map([
      ...own.map(({ origin, host }) => [origin, host] as const),
      ...named.map(({ origin }) => [origin, null] as const),
    ]),
  }
}

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]']

/** An address in the form of URLs. */
export function urlHost(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

/** Undefined if there is more than scheme, name and port. */
export function parseOrigin(origin: string): URL | undefined {
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && url.origin === origin ? url : undefined
}
