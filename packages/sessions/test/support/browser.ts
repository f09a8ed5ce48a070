import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sparticuz from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'

/** A real browser for the tests of a file: the system's, or else the one that comes in a package. */
export function useBrowser(): { readonly browser: Browser } {
  const folder = mkdtempSync(join(tmpdir(), 'chirality-browser-'))
  let browser: Browser | undefined
  beforeAll(async () => {
    const executablePath = SYSTEM.find(path => existsSync(path)) ?? (await unpack(folder))
    browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
      env: { PATH: '/usr/bin:/bin', HOME: folder, TMPDIR: folder, LD_LIBRARY_PATH: folder },
    })
  })
  afterAll(async () => {
    await browser?.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return {
    get browser() {
      if (browser === undefined) throw new Error('the browser is not there yet')
      return browser
    },
  }
}

const SYSTEM = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** It goes where temporary files go; in a folder of our own it is gone with it. */
async function unpack(folder: string): Promise<string> {
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  try {
    return await sparticuz.executablePath()
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}
