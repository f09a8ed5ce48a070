import { readFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { type BenchRow, benchRow } from '../../../../packages/core/bench/report.ts'
import { CannedApi } from '../../test/support/canned-api.ts'
import { aBusyDay } from '../../test/support/scenes.ts'
import { serveDashboard } from '../../test/support/static-server.ts'
import { median } from '../app/measures.ts'

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

/** The built page, from nothing to a session that can be used. Medians: one load of a busy machine says nothing. */
export async function loadRows(browser: Browser): Promise<BenchRow[]> {
  const server = await serveDashboard({ compressed: true })
  try {
    const fast = await loads(browser, server.url, null)
    const slow = await loads(browser, server.url, SLOW)
    return [
      benchRow({
        name: 'first paint, ms',
        ratio: median(fast.map(({ paint }) => paint)),
        bar: 1000,
        better: 'lower',
        detail: 'cold, loopback',
      }),
      benchRow({
        name: 'session usable, ms',
        ratio: median(fast.map(({ usable }) => usable)),
        bar: 1500,
        better: 'lower',
        detail: 'with its decision',
      }),
      benchRow({
        ...{ name: 'session usable on a slow machine and line, ms', bar: 1500, better: 'lower' },
        ratio: median(slow.map(({ usable }) => usable)),
        detail: `processor ${SLOW.slower} times slower, ${SLOW.mbit} Mbit/s, ${SLOW.delayMs} ms`,
      }),
    ]
  } finally {
    await server.close()
  }
}

/** What a cheap laptop on a home network is. */
const SLOW = { slower: 4, mbit: 10, delayMs: 40 }
const LOADS = 5

interface Load {
  paint: number
  /** When the decision was in a frame that was handed on to be drawn. */
  usable: number
}

async function loads(browser: Browser, url: string, profile: typeof SLOW | null): Promise<Load[]> {
  const found: Load[] = []
  for (let i = 0; i < LOADS; i++) found.push(await load(browser, url, profile))
  return found
}

async function load(browser: Browser, url: string, profile: typeof SLOW | null): Promise<Load> {
  const context = await browser.newContext({ serviceWorkers: 'allow' })
  const page = await context.newPage()
  if (profile) await slowDown(page, profile)
  const api = new CannedApi()
  aBusyDay(api)
  await api.connect(page)
  // By the page's own clock. A question from outside would be compiled and answered at the same slow speed, and be counted.
  await page.addInitScript(`(${noteUsable.toString()})('Run this command?')`)
  const told = page.waitForEvent('console', message => message.text().startsWith(USABLE))
  await page.goto(`${url}/s/s1#sign-in=x`)
  const usable = Number((await told).text().slice(USABLE.length))
  const paint = await page.evaluate(firstPaint)
  await context.close()
  // What is not painted cannot be used.
  return { paint, usable: Math.max(usable, paint) }
}

const USABLE = 'usable after '

async function slowDown(page: Page, { slower, mbit, delayMs }: typeof SLOW): Promise<void> {
  const client = await page.context().newCDPSession(page)
  await client.send('Emulation.setCPUThrottlingRate', { rate: slower })
  const bytesPerSecond = (mbit * 1e6) / 8
  await client.send('Network.emulateNetworkConditions', {
    ...{ offline: false, latency: delayMs },
    ...{ downloadThroughput: bytesPerSecond, uploadThroughput: bytesPerSecond },
  })
}

/** Runs in the page. */
function firstPaint(): Promise<number> {
  return new Promise(resolve => {
    const observer = new PerformanceObserver(list => {
      for (const { name, startTime } of list.getEntries())
        if (name === 'first-contentful-paint') resolve(startTime)
    })
    observer.observe({ type: 'paint', buffered: true })
  })
}

/** Runs in the page. */
function noteUsable(text: string): void {
  const observer = new MutationObserver(() => {
    if (!document.body?.textContent?.includes(text)) return
    observer.disconnect()
    requestAnimationFrame(() => {
      // A message is taken after the frame was handed on to be drawn.
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = () => console.log(`usable after ${performance.now()}`)
      port2.postMessage(null)
    })
  })
  observer.observe(document, { subtree: true, childList: true })
}
