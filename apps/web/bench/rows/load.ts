import { readFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { type BenchRow, benchRow } from '../../../../packages/core/bench/report.ts'
import { CannedApi } from '../../test/support/canned-api.ts'
import { aBusyDay } from '../../test/support/scenes.ts'
import { serveDashboard } from '../../test/support/static-server.ts'

const KB = 1024

/** What a browser has to fetch before it can draw the first page. */
export function initialScript(): BenchRow {
  const dist = path.join(import.meta.dirname, '../../dist')
  const html = readFileSync(path.join(dist, 'index.html'), 'utf8')
  const scripts = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)].map(([, file]) => file ?? '')
  const bytes = scripts.reduce((sum, file) => sum + gzipSync(readFileSync(path.join(dist, file))).length, 0)
  const detail = `${scripts.length} files`
  return benchRow({ name: 'initial script, KB gzip', ratio: bytes / KB, bar: 250, better: 'lower', detail })
}

/** The built page, from nothing to a session that can be used. */
export async function loadRows(browser: Browser): Promise<BenchRow[]> {
  const server = await serveDashboard()
  try {
    const page = await browser.newPage()
    const api = new CannedApi()
    aBusyDay(api)
    await api.connect(page)
    await page.goto(`${server.url}/s/s1#sign-in=x`)
    await page.getByText('Run this command?').waitFor()
    const { paint, interactive } = await page.evaluate(() => {
      const [first] = performance.getEntriesByName('first-contentful-paint')
      return { paint: first?.startTime ?? 0, interactive: performance.now() }
    })
    await page.close()
    const throttled = await usableWhenThrottled(browser, server.url)
    return [
      benchRow({
        name: 'first paint, ms',
        ratio: paint,
        bar: 1000,
        better: 'lower',
        detail: 'cold, loopback',
      }),
      benchRow({
        name: 'session usable, ms',
        ratio: interactive,
        bar: 1500,
        better: 'lower',
        detail: 'with its decision',
      }),
      benchRow({
        ...{ name: 'session usable on a slow machine and line, ms', ratio: throttled, bar: 1500 },
        ...{ better: 'lower', detail: `processor ${SLOWER} times slower, ${MBIT} Mbit/s, ${DELAY_MS} ms` },
      }),
    ]
  } finally {
    await server.close()
  }
}

const SLOWER = 4
const MBIT = 10
const DELAY_MS = 40

/** The throttled profile: what a cheap laptop on a home network is. */
async function usableWhenThrottled(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext()
  const page = await context.newPage()
  const client = await context.newCDPSession(page)
  await client.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
  const bytesPerSecond = (MBIT * 1e6) / 8
  await client.send('Network.emulateNetworkConditions', {
    ...{ offline: false, latency: DELAY_MS },
    ...{ downloadThroughput: bytesPerSecond, uploadThroughput: bytesPerSecond },
  })
  const api = new CannedApi()
  aBusyDay(api)
  await api.connect(page)
  await page.goto(`${url}/s/s1#sign-in=x`)
  await page.getByText('Run this command?').waitFor()
  const usable = await page.evaluate(() => performance.now())
  await context.close()
  return usable
}
