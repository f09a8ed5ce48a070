import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { CannedApi } from './canned-api.ts'
import { collectComplaints } from './complaints.ts'
import { type StaticServer, serveDashboard } from './static-server.ts'

export interface OpenPage {
  page: Page
  api: CannedApi
  /** What the console and the page itself complained about. Empty is the promise. */
  complaints: string[]
  close(): Promise<void>
}

export interface OpenOptions extends BrowserContextOptions {
  path?: string
  /** Fills the canned server before the page loads. */
  scene?: (api: CannedApi) => void
}

/** The size that the phone pictures of the design have. */
export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

/** One browser and the built dashboard for a test file. */
export function useServedDashboard(): { readonly browser: Browser; readonly url: string } {
  let browser: Browser
  let server: StaticServer
  beforeAll(async () => {
    server = await serveDashboard()
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.close()
  })
  return {
    get browser() {
      return browser
    },
    get url() {
      return server.url
    },
  }
}

/** One browser for a test file, and a page of its own for each test. */
export function useDashboard(): { open(options?: OpenOptions): Promise<OpenPage> } {
  const served = useServedDashboard()
  const open = new Set<BrowserContext>()
  // A failed test does not get to its own close, and its page would go on drawing beside those of the next ones.
  afterEach(async () => {
    await Promise.all([...open].map(context => context.close()))
    open.clear()
  })
  return {
    open: async ({ path = '/', scene, ...options } = {}) => {
      const context = await served.browser.newContext({ viewport: { width: 1440, height: 900 }, ...options })
      open.add(context)
      const page = await context.newPage()
      const complaints = collectComplaints(page)
      const api = new CannedApi()
      scene?.(api)
      await api.connect(page)
      await page.goto(`${served.url}${path}#sign-in=secret`)
      await page.locator('.sheet').waitFor()
      return { page, api, complaints, close: () => context.close() }
    },
  }
}
