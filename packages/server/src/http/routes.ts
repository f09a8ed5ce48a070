import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Endpoint } from '../contract/endpoints.ts'
import type { RouteKind } from '../guard/guard.ts'

export interface RouteRequest {
  request: IncomingMessage
  response: ServerResponse
  url: URL
  /** The values of the path's `:name` segments. */
  params: Readonly<Record<string, string>>
}

export interface Route extends Pick<Endpoint, 'method' | 'path' | 'kind'> {
  /** Its input and output. Null for tRPC, whose procedures have their own. */
  endpoint: Endpoint | null
  handle: (request: RouteRequest) => void | Promise<void>
}

export type RouteMatch =
  | { found: 'route'; route: Route; params: Record<string, string> }
  | { found: 'path'; allowed: string[]; kind: RouteKind }
  | { found: 'nothing' }

/** The route of a request. Distinguishes an unknown path from one that has other methods. */
export function matchRoute(routes: readonly Route[], method: string, pathname: string): RouteMatch {
  const wanted = method === 'HEAD' ? 'GET' : method
  const given = pathname.split('/')
  const others: Route[] = []
  for (const route of routes) {
    const params = matchPath(route.path.split('/'), given)
    if (params === undefined) continue
    if (route.method === wanted) return { found: 'route', route, params }
    others.push(route)
  }
  const [other] = others
  if (other === undefined) return { found: 'nothing' }
  return { found: 'path', allowed: others.map(({ method }) => method), kind: other.kind }
}

function matchPath(wanted: string[], given: string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const value = given[index]
    if (part === '*') return value === undefined ? undefined : params
    if (value === undefined) return undefined
    if (part.startsWith(':')) params[part.slice(1)] = value
    else if (part !== value) return undefined
  }
  return given.length === wanted.length ? params : undefined
}
