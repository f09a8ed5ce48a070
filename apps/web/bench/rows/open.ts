import type { Browser, Page } from 'playwright-core'
import { type BenchRow, benchRow } from '../../../../packages/core/bench/report.ts'
import { BenchApp } from '../app/bench-app.ts'
import { LAST_WORDS } from '../app/long-log.ts'
import { cpuMeter, heapMb, median, spread } from '../app/measures.ts'

const EVENTS = 100_000
const ROUNDS = 5
/** The end of the log that is shown first has far fewer rows. */
const ROWS_OF_ALL = 10_000
const SCROLL_FRAMES = 180
const SETTLE_MS = 2500

/** A session of 100,000 events, opened in the real page from the real server. */
export async function openRows(browser: Browser): Promise<BenchRow[]> {
  const app = await BenchApp.open(browser)
  try {
    const sessionId = await app.importLog(EVENTS)
    const opened: Opened[] = []
    const cold: number[] = []
    const heaps: number[] = []
    const scrolls: Scrolled[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const page = await app.page()
      opened.push(await openFromSidebar(page))
      heaps.push(await heapMb(page))
      scrolls.push(await scrollUp(page))
      await page.close()
      cold.push(await openCold(app, sessionId))
    }
    const fps = scrolls.map(scroll => scroll.fps)
    const cpuMs = median(scrolls.map(scroll => scroll.cpuMs))
    const name = `opening ${EVENTS} events`
    const shown = opened.map(({ shownMs }) => shownMs)
    const all = opened.map(({ allMs }) => allMs)
    const tasks = opened.map(({ longestTaskMs }) => longestTaskMs)
    return [
      row(
        `${name}: last screen, ms`,
        shown,
        500,
        `from a click; all of it after ${median(all).toFixed(0)} ms`,
      ),
      row(`${name}: last screen of a cold page, ms`, cold, 1500, 'from the navigation on'),
      row(`${name}: longest task, ms`, tasks, 50, 'until all of it is there'),
      row(`${name}: MB of heap`, heaps, 150, 'after a collection'),
      benchRow({
        ...{ name: `scrolling through them, frames/s`, ratio: median(fps), bar: 55, better: 'higher' },
        detail: `3,000 px a frame, ${spread(fps)}; a frame takes ${cpuMs.toFixed(1)} ms of CPU`,
      }),
    ]
  } finally {
    await app.close()
  }
}

function row(name: string, values: readonly number[], bar: number, about: string): BenchRow {
  return benchRow({
    name,
    ratio: median(values),
    bar,
    better: 'lower',
    detail: `${about}, ${spread(values)}`,
  })
}

interface Opened {
  shownMs: number
  allMs: number
  longestTaskMs: number
}

async function openFromSidebar(page: Page): Promise<Opened> {
  await page
    .locator('.sidebar')
    .getByRole('link', { name: /Long session/ })
    .waitFor()
  // What is made ready for later is part of the load.
  await page.waitForTimeout(SETTLE_MS)
  return page.evaluate(
    async ([words, rows]) => {
      const tasks: number[] = []
      const observer = new PerformanceObserver(list => {
        for (const { duration } of list.getEntries()) tasks.push(duration)
      })
      observer.observe({ type: 'longtask' })
      const until = async (isSo: () => boolean) => {
        while (!isSo()) await new Promise(requestAnimationFrame)
        // After the frame that shows it.
        await new Promise(resolve => setTimeout(resolve))
      }
      const lastRow = () => document.querySelector<HTMLElement>('.chat__row:last-child')
      const link = [...document.querySelectorAll<HTMLElement>('.session-row__link')].find(element =>
        element.textContent?.includes('Long session'),
      )
      const start = performance.now()
      link?.click()
      await until(() => document.querySelector('.chat')?.textContent?.includes(words) ?? false)
      const shownMs = performance.now() - start
      await until(() => Number(lastRow()?.dataset.index) > rows)
      const allMs = performance.now() - start
      for (const { duration } of observer.takeRecords()) tasks.push(duration)
      return { shownMs, allMs, longestTaskMs: Math.max(0, ...tasks) }
    },
    [LAST_WORDS, ROWS_OF_ALL] as const,
  )
}

/** The page and the session, by its address. */
async function openCold(app: BenchApp, sessionId: string): Promise<number> {
  const page = await app.page(`/s/${sessionId}`)
  await page.getByText(LAST_WORDS).waitFor()
  const shown = await page.evaluate(() => performance.now())
  await page.close()
  return shown
}

interface Scrolled {
  fps: number
  /** Of the page's thread, a frame. */
  cpuMs: number
}

async function scrollUp(page: Page): Promise<Scrolled> {
  const cpu = await cpuMeter(page)
  const before = await cpu()
  const fps = await page.evaluate(async frames => {
    const scroller = document.querySelector('.chat__scroll')
    if (!scroller) throw new Error('no conversation')
    const start = performance.now()
    for (let i = 0; i < frames; i++) {
      scroller.scrollTop -= 3000
      await new Promise(requestAnimationFrame)
    }
    return frames / ((performance.now() - start) / 1000)
  }, SCROLL_FRAMES)
  return { fps, cpuMs: (((await cpu()) - before) / SCROLL_FRAMES) * 1000 }
}
