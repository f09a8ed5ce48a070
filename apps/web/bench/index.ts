import { readFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { type BenchRow, benchRow, reportBench } from '../../../packages/core/bench/report.ts'
import { launchBrowser } from '../test/support/browser.ts'
import { CannedApi } from '../test/support/canned-api.ts'
import { aBusyDay } from '../test/support/scenes.ts'
import { serveDashboard } from '../test/support/static-server.ts'
import { serveBenchPage } from './build-page.ts'
import type { Bench } from './page/main.tsx'

const KB = 1024
const STREAM_SECONDS = 8
const ROWS = 100_000

const browser = await launchBrowser()
try {
  reportBench('@chirality/web', [initialScript(), ...(await loadRows()), ...(await pageRows())])
} finally {
  await browser.close()
}

/** What a browser has to fetch before it can draw the first page. */
function initialScript(): BenchRow {
  const dist = path.join(import.meta.dirname, '../dist')
  const html = readFileSync(path.join(dist, 'index.html'), 'utf8')
  const scripts = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)].map(([, file]) => file ?? '')
  const bytes = scripts.reduce((sum, file) => sum + gzipSync(readFileSync(path.join(dist, file))).length, 0)
  const detail = `${scripts.length} files`
  return benchRow({ name: 'initial script, KB gzip', ratio: bytes / KB, bar: 250, better: 'lower', detail })
}

async function loadRows(): Promise<BenchRow[]> {
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
    ]
  } finally {
    await server.close()
  }
}

async function pageRows(): Promise<BenchRow[]> {
  const server = await serveBenchPage()
  try {
    const page = await browser.newPage({ viewport: { width: 1000, height: 900 } })
    await page.goto(server.url)
    const small = await call(page, 'ours', KB)
    const large = await call(page, 'ours', 100 * KB)
    const plain = await call(page, 'reactMarkdown', 100 * KB)
    const stream = await page.evaluate(([chars, seconds]) => benchOf().stream(chars, seconds), [
      100 * KB,
      STREAM_SECONDS,
    ] as const)
    const scroll = await page.evaluate(rows => benchOf().scroll(rows), ROWS)
    const heap = await heapMb(page)
    const per = `${small.toFixed(2)} ms at 1 KB, ${large.toFixed(2)} ms at 100 KB`
    return [
      benchRow({
        name: 'cost of a delta, 100 KB against 1 KB',
        ratio: large / small,
        bar: 4,
        better: 'lower',
        detail: per,
      }),
      benchRow({
        ...{ name: 'react-markdown against ours at 100 KB', ratio: plain / large, bar: 20, better: 'higher' },
        detail: `${plain.toFixed(0)} ms against ${large.toFixed(2)} ms`,
      }),
      benchRow({
        name: 'streaming at 200 deltas/s, frames/s',
        ratio: stream.fps,
        bar: 55,
        better: 'higher',
        detail: '100 KB answer',
      }),
      benchRow({
        ...{ name: 'streaming, longest task in ms', ratio: stream.longestTaskMs, bar: 50, better: 'lower' },
        detail: `${stream.longTasks} over 50 ms`,
      }),
      benchRow({
        ...{ name: `scrolling ${ROWS} rows, frames/s`, ratio: scroll.fps, bar: 55, better: 'higher' },
        detail: '3,000 px a frame',
      }),
      benchRow({
        name: `${ROWS} rows shown, ms`,
        ratio: scroll.shownMs,
        bar: 500,
        better: 'lower',
        detail: 'the last screen of the log',
      }),
      benchRow({
        name: `${ROWS} rows, MB of heap`,
        ratio: heap,
        bar: 150,
        better: 'lower',
        detail: 'after a collection',
      }),
    ]
  } finally {
    server.close()
  }
}

declare function benchOf(): Bench

async function call(page: Page, name: 'ours' | 'reactMarkdown', chars: number): Promise<number> {
  await page.evaluate('globalThis.benchOf = () => globalThis.bench')
  return page.evaluate(([method, size]) => benchOf()[method](size), [name, chars] as const)
}

async function heapMb(page: Page): Promise<number> {
  const client = await page.context().newCDPSession(page)
  await client.send('HeapProfiler.collectGarbage')
  const { usedSize } = await client.send('Runtime.getHeapUsage')
  await client.detach()
  return usedSize / KB / KB
}
