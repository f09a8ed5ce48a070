import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { type Browser, chromium } from 'playwright-core'

/**
 * Starts a real browser with web security, which the packaged Chromium's own arguments would switch off. Its HOME and
 * temporary files are in a folder that is removed at the end.
 */
export async function launchBrowser(): Promise<Browser> {
  const find = path.join(import.meta.dirname, 'find-browser.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [find])
  const folder = mkdtempSync(path.join(tmpdir(), 'chirality-browser-'))
  const browser = await chromium.launch({
    executablePath: stdout.trim(),
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--force-color-profile=srgb'],
    env: { PATH: '/usr/bin:/bin', HOME: folder, TMPDIR: folder },
  })
  browser.once('disconnected', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return browser
}
