import path from 'node:path'
import { cloneLargeRepository, LARGE, largeFile, largeText, type Repository } from '@chirality/fixtures'
import type { Browser, Page } from 'playwright-core'
import { type BenchRow, benchRow } from '../../../../packages/core/bench/report.ts'
import { BenchApp } from '../app/bench-app.ts'
import { median } from '../app/measures.ts'
import { stopWatching, type Watched, watch } from '../app/watch.ts'

const FILES = 1000
const LINES = 50_000
const ROUNDS = 3

/** What a person sees of many changed files, beside git that prints the same; and of a very long change. */
export async function diffRows(browser: Browser): Promise<BenchRow[]> {
  const app = await BenchApp.open(browser)
  try {
    const repository = cloneLargeRepository(app.project)
    for (let i = 0; i < FILES; i += 1) {
      const index = i * (LARGE.files / FILES)
      repository.write(
        largeFile(index),
        largeText(index, { 5: '// changed', 6: '// also changed', 30: '// and this' }),
      )
    }
    const session = await app.createSession('Review')
    const page = await app.page(`/s/${session}`)
    await page.getByRole('button', { name: OPENS }).waitFor()
    await page
      .locator('.changes')
      .waitFor({ timeout: 20_000 })
      .then(
        () => close(page),
        () => {},
      )
    const git: number[] = []
    const shown: number[] = []
    const pageCpu: number[] = []
    const cpu = await cpuOf(page)
    // The first round is not counted: it makes the index of the snapshots.
    for (let round = 0; round <= ROUNDS; round += 1) {
      const start = performance.now()
      repository.run('diff')
      const printed = performance.now() - start
      const before = await cpu()
      const first = await firstScreen(page)
      if (round > 0) {
        git.push(printed)
        shown.push(first)
        pageCpu.push((await cpu()) - before)
      }
      if (round < ROUNDS) await close(page)
    }
    const many = await scrolled(page)
    const long = await longDiff(repository, page)
    const detail = ({ longestTaskMs, longTasks }: Watched) =>
      `longest task ${longestTaskMs.toFixed(0)} ms, over 50 ms: ${longTasks}`
    return [
      benchRow({
        ...{ name: `first screen of ${FILES} changed files, of git diff`, bar: 2, better: 'lower' },
        ratio: median(shown) / median(git),
        detail: `${LARGE.files} files: ${median(shown).toFixed(0)} against ${median(git).toFixed(0)} ms, of which the page's thread worked ${median(pageCpu).toFixed(0)} ms`,
      }),
      benchRow({
        ...{ name: `scrolling ${FILES} changed files, frames/s`, ratio: many.fps, bar: 55 },
        ...{ better: 'higher', detail: detail(many) },
      }),
      benchRow({
        ...{ name: `scrolling a diff of ${LINES} lines, frames/s`, ratio: long.fps, bar: 55 },
        ...{ better: 'higher', detail: detail(long) },
      }),
    ]
  } finally {
    await app.close()
  }
}

const OPENS = 'Changes and more'

/** From the click to the first line that is in a frame that was handed on to be drawn, in milliseconds. */
async function firstScreen(page: Page): Promise<number> {
  await page.evaluate(() => {
    Object.assign(window, {
      shown: new Promise<number>(resolve => {
        let clicked = 0
        addEventListener(
          'click',
          ({ timeStamp }) => {
            clicked = timeStamp
          },
          { capture: true, once: true },
        )
        const observer = new MutationObserver(() => {
          if (!document.querySelector('.changes .diff__line')) return
          observer.disconnect()
          requestAnimationFrame(() => {
            const { port1, port2 } = new MessageChannel()
            port1.onmessage = () => resolve(performance.now() - clicked)
            port2.postMessage(null)
          })
        })
        observer.observe(document, { subtree: true, childList: true })
      }),
    })
  })
  await page.getByRole('button', { name: OPENS }).click()
  return page.evaluate(() => (window as unknown as { shown: Promise<number> }).shown)
}

/** The CPU time of the page's main thread so far, in milliseconds: a busy machine does not stretch it. */
async function cpuOf(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN) * 1000
  }
}

async function close(page: Page): Promise<void> {
  await page.getByRole('button', { name: OPENS }).click()
  await page.locator('.changes').waitFor({ state: 'detached' })
}

async function scrolled(page: Page): Promise<Watched> {
  await page.locator('.changes .diff__line').first().hover()
  await watch(page)
  for (let i = 0; i < 80; i += 1) {
    await page.mouse.wheel(0, 900)
    await page.waitForTimeout(50)
  }
  return stopWatching(page)
}

async function longDiff(repository: Repository, page: Page): Promise<Watched> {
  await close(page)
  repository.run('reset', '-q', '--hard')
  const lines = Array.from({ length: LINES }, (_, i) => `export const value${i} = compute(${i * 7})`)
  repository.write(path.join('packages', 'long.ts'), `${lines.join('\n')}\n`)
  await firstHead(page)
  await page.locator('.file-change__head').first().click()
  await page.locator('.changes .diff__line').first().waitFor()
  return scrolled(page)
}

/** A long file is folded, so that it has no lines at first. */
async function firstHead(page: Page): Promise<void> {
  await page.getByRole('button', { name: OPENS }).click()
  await page.locator('.file-change__head').first().waitFor()
}
