import { type BuildFacts, cacheNameOf, outdatedCaches, ownCaches } from './worker-files.ts'

/** The header with which our server, and nothing else that may one day listen on this port, sends a page. */
export const OURS_HEADER = 'x-chirality'

/** The page's own files, so that it can start without a server. Never an answer of the API. */
export class ShellCache {
  readonly #build: BuildFacts

  constructor(build: BuildFacts) {
    this.#build = build
  }

  /** All or nothing: with a part missing the build before stays in charge, and the next visit tries again. */
  async fill(): Promise<void> {
    const { version, entry, files } = this.#build
    const page = await fetch(fresh('/'))
    if (!isOurs(page) || !(await page.clone().text()).includes(entry))
      throw new Error('The page is of another build than the worker.')
    const name = cacheNameOf(version)
    const cache = await caches.open(name)
    try {
      await cache.addAll(files.map(fresh))
      await cache.put('/', page)
    } catch (error) {
      await caches.delete(name)
      throw error
    }
  }

  async prune(): Promise<void> {
    const outdated = outdatedCaches(await caches.keys(), this.#build.version)
    await Promise.all(outdated.map(name => caches.delete(name)))
  }

  async clear(): Promise<void> {
    await Promise.all(ownCaches(await caches.keys()).map(name => caches.delete(name)))
  }

  /** File of this build or of the one before. */
  async file(path: string): Promise<Response | undefined> {
    return caches.match(path)
  }

  async page(): Promise<Response | undefined> {
    const cache = await caches.open(cacheNameOf(this.#build.version))
    return cache.match('/')
  }
}

export function isOurs(response: Response): boolean {
  return response.ok && response.headers.has(OURS_HEADER)
}

/** Past the browser's own cache: what another program on this port left there for ever does not get in here. */
function fresh(path: string): Request {
  return new Request(path, { cache: 'reload' })
}
