/** Under which names this server is reached. Exact strings: no pattern, no prefix, no port left open. */
export interface Place {
  hosts: ReadonlySet<string>
  origins: ReadonlySet<string>
}

export interface PlaceOptions {
  port: number
  /** The server itself speaks TLS. */
  tls?: boolean
  /** Other names, as `https://agents.example`: of a proxy in front, or of a host that is not loopback. */
  publicOrigins?: string[]
}

export function placeOf({ port, tls = false, publicOrigins = [] }: PlaceOptions): Place {
  const scheme = tls ? 'https' : 'http'
  const origins = LOOPBACK_NAMES.map(name => new URL(`${scheme}://${name}:${port}`))
  const all = [...origins, ...publicOrigins.map(origin => parseOrigin(origin))]
  return {
    // `URL` leaves the default port out, as browsers do.
    hosts: new Set(all.map(url => url.host)),
    origins: new Set(all.map(url => url.origin)),
  }
}

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]']

function parseOrigin(origin: string): URL {
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url
  throw new TypeError(
    `${JSON.stringify(origin)} is not an origin. Write scheme and name only, as in https://agents.example.`,
  )
}
