import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import sparticuz from '@sparticuz/chromium'
import { type Browser, chromium } from 'playwright-core'

export interface TestBrowser {
  browser: Browser
  close(): Promise<void>
}

/** A real browser: the system's, or the one inside a package. Web security as every user has it. */
export async function openBrowser(): Promise<TestBrowser> {
  const folder = mkdtempSync(path.join(tmpdir(), 'chirality-browser-'))
  const executablePath = SYSTEM.find(file => existsSync(file)) ?? (await unpackInto(folder))
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
    env: { PATH: '/usr/bin:/bin', HOME: folder, TMPDIR: folder, LD_LIBRARY_PATH: folder },
  })
  return {
    browser,
    close: async () => {
      await browser.close()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const SYSTEM = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** It unpacks itself to where temporary files go, so that is a folder which goes away again. */
async function unpackInto(folder: string): Promise<string> {
  const { TMPDIR } = process.env
  process.env.TMPDIR = folder
  try {
    return await sparticuz.executablePath()
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  }
}
