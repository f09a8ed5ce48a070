import type { Page } from 'playwright-core'

/** Resolves when the service worker has filled its cache and has this page. */
export async function workerInCharge(page: Page): Promise<void> {
  await page.waitForFunction(async () => {
    await navigator.serviceWorker.ready
    return navigator.serviceWorker.controller?.state === 'activated'
  })
}

export interface CachedFile {
  cache: string
  path: string
  text: string
  headers: Record<string, string>
}

/** All that the page's origin keeps in caches. */
export function cachedFiles(page: Page): Promise<CachedFile[]> {
  return page.evaluate(async () => {
    const found: CachedFile[] = []
    for (const name of await caches.keys()) {
      const cache = await caches.open(name)
      for (const request of await cache.keys()) {
        const response = await cache.match(request)
        if (!response) continue
        const { pathname, search, hash } = new URL(request.url)
        found.push({
          cache: name,
          path: pathname + search + hash,
          text: await response.text(),
          headers: Object.fromEntries(response.headers),
        })
      }
    }
    return found
  })
}
