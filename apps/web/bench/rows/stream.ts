import type { Browser, Page } from 'playwright-core'
import { type BenchRow, benchRow } from '../../../../packages/core/bench/report.ts'
import { BenchApp } from '../app/bench-app.ts'
import { cpuMeter, median, percentile, spread } from '../app/measures.ts'
import { markdownOf } from '../app/texts.ts'
import { stopWatching, type Watched, watch } from '../app/watch.ts'

const KB = 1024
const ROUNDS = 3
const DELTAS_PER_SECOND = 200
const DELTA_CHARS = 24
const PIECES_PER_TOOL = 200
/** A fifth of what counts as good. Words that become bold or a link are below it, a line that jumps is not. */
const NO_SHIFT = 0.02

/** An answer that is written while it is looked at: from the agent through host, log, server and socket into the page. */
export async function streamRows(browser: Browser): Promise<BenchRow[]> {
  const app = await BenchApp.open(browser)
  try {
    return [...(await longAnswerRows(app)), ...(await latencyRows(app)), await scrolledUpRow(app)]
  } finally {
    await app.close()
  }
}

async function longAnswerRows(app: BenchApp): Promise<BenchRow[]> {
  const seen: Watched[] = []
  const busy: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const { page, sessionId } = await freshSession(app, `Long answer ${round}`)
    const cpu = await cpuMeter(page)
    const [cpuBefore, start] = [await cpu(), performance.now()]
    await watch(page)
    const text = markdownOf(100 * KB)
    const plan = { text, deltaChars: DELTA_CHARS, perSecond: DELTAS_PER_SECOND }
    await app.stream(sessionId, round < ROUNDS - 1 ? plan : { ...plan, toolEvery: PIECES_PER_TOOL })
    seen.push(await stopWatching(page))
    busy.push(((await cpu()) - cpuBefore) / ((performance.now() - start) / 1000))
    await page.close()
  }
  const fps = seen.map(watched => watched.fps)
  const tasks = seen.map(watched => watched.longestTaskMs)
  const count = seen.map(watched => watched.longTasks).join(', ')
  return [
    benchRow({
      ...{ name: 'whole app, 100 KB at 200 deltas/s, frames/s', ratio: median(fps), bar: 55 },
      ...{ better: 'higher', detail: `${spread(fps, 1)}; its thread is ${percent(median(busy))} busy` },
    }),
    benchRow({
      ...{ name: 'whole app, longest task in ms', ratio: median(tasks), bar: 50, better: 'lower' },
      detail: `${spread(tasks)}; over 50 ms: ${count}`,
    }),
    shiftRow('at the end', seen),
  ]
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`
}

/** A reader in the middle of an answer, while it goes on below. */
async function scrolledUpRow(app: BenchApp): Promise<BenchRow> {
  const { page, sessionId } = await freshSession(app, 'Read while written')
  const plan = { deltaChars: DELTA_CHARS, perSecond: DELTAS_PER_SECOND }
  await app.stream(sessionId, { ...plan, text: markdownOf(10 * KB) })
  const streaming = app.stream(sessionId, { ...plan, text: markdownOf(30 * KB) })
  await page.waitForFunction(() => (document.querySelector('.chat')?.textContent?.length ?? 0) > 14_000)
  await page.locator('.chat__scroll').hover()
  await page.mouse.wheel(0, -3000)
  await page.getByRole('button', { name: 'Latest' }).waitFor()
  // What moves within half a second of the wheel counts as wanted.
  await page.waitForTimeout(600)
  await watch(page)
  await streaming
  const seen = await stopWatching(page)
  await page.close()
  return shiftRow('further up', [seen])
}

function shiftRow(where: string, seen: readonly Watched[]): BenchRow {
  const shifts = seen.map(({ layoutShift }) => layoutShift)
  // Each begins with how much it was.
  const [worst] = seen
    .flatMap(({ shifted }) => shifted)
    .sort((a, b) => Number.parseFloat(b) - Number.parseFloat(a))
  const detail = worst?.slice(0, 80) ?? 'nothing moved'
  return benchRow({
    ...{ name: `layout shift while streaming, ${where}`, ratio: Math.max(...shifts), bar: NO_SHIFT },
    ...{ better: 'lower', detail },
  })
}

/** From the agent's hand to the text in the page, by one clock. */
async function latencyRows(app: BenchApp): Promise<BenchRow[]> {
  const idle = { text: paragraphs(60), perSecond: 4 }
  const busy = { text: paragraphs(1200), perSecond: DELTAS_PER_SECOND }
  const rows: BenchRow[] = []
  for (const [name, plan] of [
    ['now and then', idle],
    ['at 200 deltas/s', busy],
  ] as const) {
    const { page, sessionId } = await freshSession(app, `Latency ${name}`)
    await watch(page)
    const { sentAt = [] } = await app.stream(sessionId, { ...plan, deltaChars: PIECE_CHARS, marked: true })
    await page.waitForTimeout(200)
    const { seenAt } = await stopWatching(page)
    await page.close()
    const late = sentAt.flatMap((sent, i) => (seenAt[i] == null ? [] : [seenAt[i] - sent]))
    const missing = sentAt.length - late.length
    const detail = `p99 ${percentile(late, 0.99).toFixed(0)} ms, ${late.length} pieces${missing > 0 ? `, ${missing} not seen` : ''}`
    rows.push(
      benchRow({
        ...{ name: `agent to DOM, ${name}: p50 in ms`, bar: 50, better: 'lower', detail },
        ratio: missing > 0 ? Number.POSITIVE_INFINITY : median(late),
      }),
    )
  }
  return rows
}

const PIECE_CHARS = 12
const PIECES_PER_PARAGRAPH = 10

/** Text of so many pieces, in paragraphs as long as people write them. */
function paragraphs(pieces: number): string {
  const piece = (i: number) =>
    (i % PIECES_PER_PARAGRAPH === 0 ? '\n\nSome words,' : ' some words,').slice(0, PIECE_CHARS)
  return Array.from({ length: pieces }, (_, i) => piece(i).padEnd(PIECE_CHARS)).join('')
}

export async function freshSession(app: BenchApp, title: string): Promise<{ page: Page; sessionId: string }> {
  const sessionId = await app.createSession(title)
  const page = await app.page(`/s/${sessionId}`)
  await page.locator('.chat').waitFor()
  await page.getByText('Connected').waitFor()
  // Fonts, colours and what is fetched ahead are part of the load.
  await page.waitForTimeout(2000)
  return { page, sessionId }
}
