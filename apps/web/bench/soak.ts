// Memory over a long time of streaming: `pnpm soak [minutes]`, half an hour by default. Each round a new session is opened from
// the sidebar and its answer is streamed through the real server into the real page; old sessions are deleted. So what the page
// has to keep stays the same, and what grows all the same is a leak.
import type { CDPSession, Page } from 'playwright-core'
import { launchBrowser } from '../../../.scripts/browser.ts'
import { BenchApp } from './app/bench-app.ts'
import { type Sample, slopePerMinute } from './app/slope.ts'
import { markdownOf } from './app/texts.ts'

const MINUTES = Number(process.argv[2] ?? 30)
const ROUND_SECONDS = Math.min(30, (MINUTES * 60) / 20)
const DELTAS_PER_SECOND = 100
const DELTA_CHARS = 24
const PIECES_PER_TOOL = 200
/** In the sidebar from the beginning, besides those that come and go. */
const SIDEBAR_SESSIONS = 50
/** More than the page keeps in memory. */
const KEPT_SESSIONS = 6
/** Of what the logs grew by. A page that kept what it has shown would keep all of it. */
const MAX_SHARE_OF_LOG = 0.1
/** Below this it is the noise of a heap: code that was compiled, caches of the browser. */
const NOISE_MB = 0.5
const MAX_NODE_GROWTH = 0.05
const PATIENCE_MS = 120_000
const MB = 1024 * 1024

const browser = await launchBrowser()
const app = await BenchApp.open(browser)
try {
  const { samples, logBytes } = await soak()
  process.exitCode = judge(samples, logBytes) ? 0 : 1
} finally {
  await app.close()
  await browser.close()
}

async function soak(): Promise<{ samples: Sample[]; logBytes: number }> {
  for (let i = 1; i <= SIDEBAR_SESSIONS; i++) await app.createSession(`Earlier ${i}`)
  const page = await app.page()
  // Half an hour of a machine that others use, too, has slow minutes.
  page.setDefaultTimeout(PATIENCE_MS)
  const client = await page.context().newCDPSession(page)
  const samples: Sample[] = []
  const sessions: string[] = []
  const start = performance.now()
  let logBytes = 0
  for (let round = 1; performance.now() - start < MINUTES * 60_000; round++) {
    const title = `Round ${round}`
    const sessionId = await app.createSession(title)
    sessions.push(sessionId)
    await open(page, { sessionId, title, round })
    const text = markdownOf(ROUND_SECONDS * DELTAS_PER_SECOND * DELTA_CHARS)
    const plan = { text, deltaChars: DELTA_CHARS, perSecond: DELTAS_PER_SECOND, toolEvery: PIECES_PER_TOOL }
    logBytes += (await app.stream(sessionId, plan)).logBytes ?? 0
    for (const old of sessions.splice(0, sessions.length - KEPT_SESSIONS)) await app.deleteSession(old)
    const sample = { ...(await measure(client)), minutes: (performance.now() - start) / 60_000 }
    samples.push(sample)
    console.log(
      `${sample.minutes.toFixed(1)} min: ${sample.heapMb.toFixed(2)} MB, ${sample.nodes} nodes, ${sample.listeners} listeners, ${(logBytes / MB).toFixed(1)} MB logged`,
    )
  }
  return { samples, logBytes }
}

/** As a person does who watches one agent after the other, now with one pane beside it and now with another. */
async function open(page: Page, about: { sessionId: string; title: string; round: number }): Promise<void> {
  // A session that nobody has opened is not announced; the list is read anew when the page is seen again.
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await page.locator('.sidebar').getByText(about.title, { exact: true }).click()
  await page.waitForURL(`**/s/${about.sessionId}`)
  await page.getByRole('tab', { name: about.round % 2 === 0 ? 'Changes' : 'Activity' }).click()
}

async function measure(client: CDPSession): Promise<Omit<Sample, 'minutes'>> {
  await client.send('HeapProfiler.collectGarbage')
  const { usedSize } = await client.send('Runtime.getHeapUsage')
  const { nodes, jsEventListeners } = await client.send('Memory.getDOMCounters')
  return { heapMb: usedSize / MB, nodes, listeners: jsEventListeners }
}

/** By the second half: in the first, caches fill that have a bound, some of them for five minutes. */
function judge(samples: readonly Sample[], logBytes: number): boolean {
  const late = samples.slice(Math.floor(samples.length / 2))
  const minutes = (late.at(-1)?.minutes ?? 0) - (late[0]?.minutes ?? 0)
  const loggedMb = (logBytes / MB) * (late.length / samples.length)
  const heapMb = slopePerMinute(late, ({ heapMb }) => heapMb) * minutes
  const bound = Math.max(NOISE_MB, loggedMb * MAX_SHARE_OF_LOG)
  const nodes = late.reduce((sum, sample) => sum + sample.nodes, 0) / late.length
  const nodeGrowth = (slopePerMinute(late, sample => sample.nodes) * minutes) / nodes
  console.log(
    `second half, ${minutes.toFixed(1)} min: heap ${heapMb.toFixed(2)} MB (at most ${bound.toFixed(2)}, a tenth of ${loggedMb.toFixed(1)} MB logged), nodes ${(nodeGrowth * 100).toFixed(1)} % (at most ${MAX_NODE_GROWTH * 100} %)`,
  )
  return heapMb <= bound && nodeGrowth <= MAX_NODE_GROWTH
}
