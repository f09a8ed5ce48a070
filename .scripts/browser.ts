import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'
import { sharesInMemory } from './shared-memory.ts'

/** Letters by their outlines alone: neither the hinting nor the kind of screen of the machine changes a pixel. */
const SAME_PIXELS = ['--font-render-hinting=none', '--disable-lcd-text', '--force-device-scale-factor=1']

/** Ends only what hangs: a page takes half a minute to be there on a busy machine, after which Playwright gives up by itself. */
const PATIENCE_MS = 180_000

/**
 * Starts a real browser with web security, which the packaged Chromium's own arguments would switch off. Its HOME and
 * temporary files are in a folder that is removed at the end. With `samePixels` it is the packaged one wherever that
 * runs, and draws alike on every machine, for pictures that are compared. The dashboard's service worker stores the
 * whole dashboard, which costs as much as loading the page: only contexts that ask for `serviceWorkers: 'allow'` have it.
 */
export async function launchBrowser({ samePixels = false } = {}): Promise<Browser> {
  const find = path.join(import.meta.dirname, 'find-browser.mjs')
  const packaged = samePixels && process.platform === 'linux' ? ['--packaged'] : []
  const { stdout } = await promisify(execFile)(process.execPath, [find, ...packaged])
  const ignoreDefaultArgs = sharesInMemory(tmpdir()) ? ['--disable-dev-shm-usage'] : []
  const folder = mkdtempSync(path.join(tmpdir(), 'chirality-browser-'))
  const browser = await chromium.launch({
    executablePath: stdout.trim(),
    args: [
      ...['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb'],
      ...(samePixels ? SAME_PIXELS : []),
    ],
    ignoreDefaultArgs,
    env: { PATH: '/usr/bin:/bin', HOME: folder, TMPDIR: folder },
    timeout: PATIENCE_MS,
  })
  const newContext = browser.newContext.bind(browser)
  // Pages that are made without a context get one of these, too.
  browser.newContext = async options => {
    const context = await newContext({ serviceWorkers: 'block', ...options })
    context.setDefaultTimeout(PATIENCE_MS)
    return context
  }
  browser.once('disconnected', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return browser
}
