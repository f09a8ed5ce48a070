// Writes pictures of the main states into docs/screenshots, light and dark. The states are canned; the page is the built one.
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { Page } from 'playwright-core'
import { launchBrowser } from '../../../.scripts/browser.ts'
import { CannedApi } from './support/canned-api.ts'
import { cardWithKeys } from './support/keys.ts'
import { aRealRun } from './support/real-run.ts'
import { aBusyDay, aQuestion, aSubAgent, TESTS_PASS } from './support/scenes.ts'
import { serveDashboard } from './support/static-server.ts'

const FOLDER = path.join(import.meta.dirname, '../../../docs/screenshots')
const WIDE = { viewport: { width: 1280, height: 800 } }
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

interface Shot {
  name: string
  at: string
  scene?: (api: CannedApi) => void
  /** Brings the page to what is to be seen, and waits until it is. */
  ready: (page: Page, api: CannedApi) => Promise<unknown>
  phone?: boolean
}

const SHOTS: readonly Shot[] = [
  { name: 'decision', at: '/s/s1', ready: page => cardWithKeys(page).waitFor() },
  {
    name: 'done',
    at: '/s/s1',
    ready: async (page, api) => {
      await page.getByText('Run this command?').waitFor()
      api.push('s1', TESTS_PASS)
      api.setStatus('s1', { phase: 'idle', pending: [], lastTurn: 'completed' })
      await page.locator('.hl-keyword, .hl-string').first().waitFor()
    },
  },
  { name: 'start', at: '/', ready: page => page.getByRole('region', { name: 'Lately' }).waitFor() },
  {
    name: 'fleet',
    at: '/fleet',
    ready: page => page.getByRole('heading', { name: 'All sessions' }).waitFor(),
  },
  {
    name: 'sub-agents',
    at: '/s/s3',
    scene: aSubAgent,
    ready: async page => {
      await page.getByText('Looking at the callers').waitFor()
      await page.getByRole('tab', { name: 'Activity' }).click()
      await page.getByRole('region', { name: 'Tool calls' }).waitFor()
    },
  },
  {
    name: 'question',
    at: '/s/s2',
    scene: aQuestion,
    ready: page => page.getByText('E · Enter · D').waitFor(),
  },
  {
    name: 'raw',
    at: '/s/raw',
    scene: api => {
      api.add({ sessionId: 'raw', title: 'Read, edit, write', lastTurn: 'completed' })
      aRealRun(api, 'raw')
    },
    ready: async page => {
      await page.getByRole('tab', { name: 'Raw' }).click()
      await page.getByRole('button', { name: 'Side by side' }).click()
      await page
        .getByRole('group', { name: 'UI events' })
        .getByRole('button', { name: /tool:result/ })
        .last()
        .click()
      await page.getByText('The event came from this line.').waitFor()
    },
  },
  { name: 'phone', at: '/s/s1', phone: true, ready: page => page.getByText('Run this command?').waitFor() },
]

const browser = await launchBrowser()
const server = await serveDashboard()
try {
  await mkdir(FOLDER, { recursive: true })
  for (const shot of SHOTS)
    for (const colorScheme of ['light', 'dark'] as const) await take(shot, colorScheme)
} finally {
  await browser.close()
  await server.close()
}

async function take(shot: Shot, colorScheme: 'light' | 'dark'): Promise<void> {
  const context = await browser.newContext({ colorScheme, ...(shot.phone ? PHONE : WIDE) })
  // The browser inside the npm package refuses notifications for ever; people's browsers ask.
  await context.addInitScript("Object.defineProperty(Notification, 'permission', { get: () => 'default' })")
  const page = await context.newPage()
  const api = new CannedApi()
  aBusyDay(api)
  shot.scene?.(api)
  await api.connect(page)
  await page.goto(`${server.url}${shot.at}#sign-in=secret`)
  await shot.ready(page, api)
  await page.evaluate(() => document.fonts.ready)
  // Two frames: what was just drawn is also in its place.
  await page.evaluate(
    () => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))),
  )
  const file = path.join(FOLDER, `${shot.name}-${colorScheme}.png`)
  await page.screenshot({ path: file })
  console.log(path.relative(path.join(FOLDER, '../..'), file))
  await context.close()
}
