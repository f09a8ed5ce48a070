/** Facts of the build for the worker. */
export interface BuildFacts {
  /** Another one for each build that differs in a byte. */
  version: string
  /** The script that the page starts with: a page of another build names another one. */
  entry: string
  /** Every file with a hash in its name, as paths. */
  files: readonly string[]
}

const PREFIX = 'chirality-'

export function cacheNameOf(version: string): string {
  return PREFIX + version
}

/**
 * Caches to remove once a new build is in charge, given in the order in which they were made. The build before stays, for
 * pages that were loaded from it and have not yet fetched all their parts. What is not ours is not touched.
 */
export function outdatedCaches(names: readonly string[], version: string): string[] {
  const current = cacheNameOf(version)
  const earlier = names.filter(name => name.startsWith(PREFIX) && name !== current)
  return earlier.slice(0, -1)
}

export function ownCaches(names: readonly string[]): string[] {
  return names.filter(name => name.startsWith(PREFIX))
}

export interface RequestFacts {
  method: string
  /** `document` for a page in a tab; frames are none of ours. */
  destination: string
  mode: string
  url: string
}

/**
 * `page`: from the server, and from the cache when there is no server. `file`: its name has a hash, so the cache knows it
 * as well as the server. `none`: the browser does what it does without us, which is the rule for everything that could hold
 * a word of a session.
 */
export type Treatment = { kind: 'page' | 'file'; path: string } | { kind: 'none' }

export function treatmentOf(request: RequestFacts, origin: string): Treatment {
  const url = new URL(request.url)
  if (request.method !== 'GET' || url.origin !== origin) return NONE
  // The path alone goes on: the fragment of a link may be a secret.
  const { pathname: path } = url
  if (request.mode === 'navigate')
    return request.destination === 'document' && isPageOfApp(path) ? { kind: 'page', path } : NONE
  // Not only those of this build: a page of the build before asks for its own.
  return path.startsWith('/assets/') && url.search === '' ? { kind: 'file', path } : NONE
}

const NONE: Treatment = { kind: 'none' }

/** The addresses of the router. All of them are the same HTML. */
function isPageOfApp(path: string): boolean {
  return PAGES.has(path) || ['/s/', '/p/', '/loops/', '/settings/'].some(folder => path.startsWith(folder))
}

const PAGES = new Set(['/', '/fleet', '/loops', '/schedules', '/usage', '/settings'])
