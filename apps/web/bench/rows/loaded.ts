import type { Browser, Page } from 'playwright-core'
import { type BenchRow, benchRow } from '../../../../packages/core/bench/report.ts'
import { BenchApp } from '../app/bench-app.ts'
import { median, percentile } from '../app/measures.ts'
import { markdownOf } from '../app/texts.ts'
import { stopWatching, watch } from '../app/watch.ts'
import { freshSession } from './stream.ts'

const STREAMS = 4
const EVENTS = 100_000
const TEXT_BYTES = 60 * 1024
const PLAN = { deltaChars: 24, perSecond: 100, toolEvery: 200 }
const KEYS = 120

/** What a person feels while four agents write at once: scrolling through a long conversation, and typing. */
export async function loadedRows(browser: Browser): Promise<BenchRow[]> {
  const app = await BenchApp.open(browser)
  try {
    const sessions: string[] = []
    for (let i = 0; i < STREAMS; i++) sessions.push(await app.createSession(`Stream ${i}`))
    return [await scrollRow(app, sessions), await typingRow(browser, app, sessions)]
  } finally {
    await app.close()
  }
}

async function scrollRow(app: BenchApp, sessions: string[]): Promise<BenchRow> {
  const long = await app.importLog(EVENTS)
  const page = await app.page(`/s/${long}`)
  await page.locator('.chat__scroll').hover()
  await page.waitForTimeout(2000)
  const streaming = app.streamAll(sessions, { ...PLAN, text: markdownOf(TEXT_BYTES) })
  let isStreaming = true
  void streaming.finally(() => {
    isStreaming = false
  })
  await watch(page)
  while (isStreaming) {
    await page.mouse.wheel(0, -1200)
    await page.waitForTimeout(50)
  }
  const { fps, longestTaskMs, longTasks } = await stopWatching(page)
  await streaming
  await page.close()
  return benchRow({
    ...{ name: `scrolling ${EVENTS} events while ${STREAMS} sessions stream, frames/s`, ratio: fps, bar: 55 },
    ...{ better: 'higher', detail: `longest task ${longestTaskMs.toFixed(0)} ms, over 50 ms: ${longTasks}` },
  })
}

/** From a key to the frame that shows its letter: in the message field under load, and in a field on an empty page. */
async function typingRow(browser: Browser, app: BenchApp, sessions: string[]): Promise<BenchRow> {
  const empty = await browser.newPage({ serviceWorkers: 'allow' })
  await empty.setContent('<textarea></textarea>')
  const alone = await typed(empty, 'textarea')
  await empty.close()
  const { page } = await freshSession(app, 'Typing')
  const streaming = app.streamAll(sessions, { ...PLAN, text: markdownOf(TEXT_BYTES) })
  const loaded = await typed(page, '.composer textarea')
  await streaming
  await page.close()
  const [p95, base] = [percentile(loaded, 0.95), percentile(alone, 0.95)]
  return benchRow({
    ...{ name: 'key to paint under load against an empty page, p95', ratio: p95 / base, bar: 1.3 },
    ...{ better: 'lower' },
    detail: `${p95.toFixed(1)} and ${base.toFixed(1)} ms; p50 ${median(loaded).toFixed(1)} and ${median(alone).toFixed(1)} ms`,
  })
}

/** Milliseconds from each key to after the frame in which its letter is drawn. */
async function typed(page: Page, field: string): Promise<number[]> {
  await page.locator(field).focus()
  await page.evaluate(() => {
    const times: number[] = []
    Object.assign(window, { keyTimes: times })
    document.addEventListener(
      'keydown',
      ({ timeStamp }) =>
        requestAnimationFrame(() => {
          // A message is taken after the frame was handed on to be drawn.
          const { port1, port2 } = new MessageChannel()
          port1.onmessage = () => times.push(performance.now() - timeStamp)
          port2.postMessage(null)
        }),
      { capture: true },
    )
  })
  for (let i = 0; i < KEYS; i++) {
    await page.keyboard.press('abcdefghij'[i % 10] ?? 'a')
    await page.waitForTimeout(40)
  }
  return page.evaluate(() => (window as unknown as { keyTimes: number[] }).keyTimes)
}
