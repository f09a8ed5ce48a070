import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { type BenchRow, benchRow } from '../../../../packages/core/bench/report.ts'
import { heapMb } from '../app/measures.ts'
import { serveBuiltPage } from '../build-page.ts'
import type { Bench } from '../page/main.tsx'

const KB = 1024
const STREAM_SECONDS = 8
const ROWS = 100_000

/** The parts alone, without a server: what a delta and a row cost in themselves. */
export async function partRows(browser: Browser): Promise<BenchRow[]> {
  const server = await serveBuiltPage(path.join(import.meta.dirname, '../page'))
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
