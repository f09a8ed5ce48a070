import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Browser, BrowserContextOptions, Page, WebSocketRoute } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { collectComplaints } from '../support/complaints.ts'
import { cardWithKeys } from '../support/keys.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'

let browser: Browser

beforeAll(async () => {
  browser = await launchBrowser()
})

afterAll(() => browser?.close())

/** The whole program with a demo that nobody has played yet. */
async function startDemo(): Promise<ServerProcess> {
  const home = await mkdtemp(path.join(tmpdir(), 'chirality-hands-'))
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    TMPDIR: home,
    CHIRALITY_HOME: path.join(home, 'data'),
  }
  const server = await startServerProcess(['--demo', '--port', '0'], env)
  onTestFinished(async () => {
    await server.stop()
    await rm(home, { recursive: true, force: true })
  })
  return server
}

const TITLE = 'The test fails. Find out why and mend it.'

test('keyboard only, from the first load to the diff of the turn', async () => {
  const { link } = await startDemo()
  const { page, complaints, close } = await open({ viewport: { width: 1440, height: 900 } })
  await page.goto(link)
  const talk = page.getByRole('region', { name: 'Conversation' })
  // The field for the first message has the focus; the button that says it stands before.
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('composer')
  await page.keyboard.press('Escape')
  await reach(page, TITLE)
  await page.keyboard.press('Enter')
  await talk.getByText('Run this command?').waitFor()
  await cardWithKeys(page).waitFor()
  await page.keyboard.press('a')
  await talk.getByText('Change this file?').waitFor()
  await cardWithKeys(page).waitFor()
  await page.keyboard.press('a')
  await talk.getByText('And the test once more.').waitFor()
  await talk.getByText('Run this command?').waitFor()
  await cardWithKeys(page).waitFor()
  // The first time it opens what it would mean, the second time it is meant.
  await page.keyboard.press('Shift+A')
  await page.getByRole('group', { name: 'Allow without asking, from now on' }).waitFor()
  await cardWithKeys(page).waitFor()
  await page.keyboard.press('Shift+A')
  await talk.getByText('and the test passes').waitFor()
  await talk.getByText('done', { exact: true }).waitFor()
  await reach(page, 'Changes of this turn')
  await page.keyboard.press('Enter')
  await page.getByRole('group', { name: 'Changes in greet.js' }).last().waitFor()
  // The tree by arrows, a file and back.
  await page.keyboard.press('3')
  await page.getByRole('treeitem', { name: 'greet.js', exact: true }).waitFor()
  await reach(page, 'greet.test.js')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'greet.js', exact: true }).waitFor()
  await page.locator('.file__numbers').waitFor()
  expect(complaints).toEqual([])
  await close()
})

test('a phone, by touch, with the connection cut in the middle and a reload in another', async () => {
  const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true }
  const { page, complaints, cut, restore, close } = await open(phone)
  await page.goto((await startDemo()).link)
  const talk = page.getByRole('region', { name: 'Conversation' })
  await page.getByRole('button', { name: TITLE }).tap()
  const allow = page.getByRole('button', { name: 'Allow once' })
  await talk.getByText('Run this command?').waitFor()

  // Cut while it waits: it is said, and what is tapped meanwhile arrives when the connection is back.
  await cut()
  await page.getByRole('alert').filter({ hasText: 'No connection' }).waitFor()
  await allow.tap()
  restore()
  await page.getByRole('alert').filter({ hasText: 'No connection' }).waitFor({ state: 'detached' })
  await talk.getByText('Change this file?').waitFor()
  await page.reload()
  await talk.getByText('Change this file?').waitFor()
  await allow.tap()
  await talk.getByText('And the test once more.').waitFor()
  await allow.tap()
  await talk.getByText('and the test passes').waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
  await page.getByRole('button', { name: 'Changes of this turn' }).tap()
  const sheet = page.getByRole('dialog', { name: 'Beside the conversation' })
  await sheet.getByRole('group', { name: 'Changes in greet.js' }).waitFor()
  expect(complaints).toEqual([])
  await close()
})

/** Presses Tab until what is called so has the focus, as somebody without a mouse would. */
async function reach(page: Page, name: string): Promise<void> {
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press('Shift+Tab')
    const focused = await page.evaluate(() => {
      const { activeElement: element } = document
      return element?.getAttribute('aria-label') ?? element?.textContent ?? ''
    })
    if (focused === name) return
  }
  throw new Error(`${name} cannot be reached with Tab.`)
}

/** A page whose connection can be cut: every socket passes through here. */
async function open(options: BrowserContextOptions) {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const complaints = collectComplaints(page)
  const sockets = new Set<WebSocketRoute>()
  let isOpen = Promise.resolve()
  let restore = () => {}
  await page.routeWebSocket(/\/trpc/, async socket => {
    await isOpen
    const upstream = socket.connectToServer()
    sockets.add(socket)
    socket.onMessage(message => upstream.send(message))
    upstream.onMessage(message => socket.send(message))
  })
  const cut = async () => {
    isOpen = new Promise(resolve => {
      restore = resolve
    })
    for (const socket of sockets) await socket.close()
    sockets.clear()
  }
  return { page, complaints, cut, restore: () => restore(), close: () => context.close() }
}
