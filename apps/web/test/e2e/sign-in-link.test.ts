import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'

let browser: Browser
let folder: string
let server: ServerProcess

beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'chirality-link-')))
  const project = path.join(folder, 'parcel-api')
  await mkdir(project)
  server = await startServerProcess(['--port', '0', '--project', project], {
    ...{ PATH: process.env.PATH ?? '', HOME: folder, TMPDIR: folder },
    CHIRALITY_HOME: path.join(folder, 'data'),
  })
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser?.close()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function openTab(): Promise<Page> {
  const context = await browser.newContext({ serviceWorkers: 'allow' })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.goto(`${server.url}/`)
  await page.getByRole('heading', { name: 'Open the link of the server' }).waitFor()
  return page
}

/** As if it were pasted into the address bar: only the fragment is another one, so the browser loads nothing. */
const paste = (page: Page, link: string) =>
  page.evaluate(address => {
    ;(window as { isSamePage?: true }).isSamePage = true
    location.href = address
  }, link)

const field = (page: Page) => page.getByRole('textbox', { name: 'What should be done?' })

test('a link that is pasted into the tab that asks for it signs it in, and leaves the address bar', async () => {
  const page = await openTab()
  await paste(page, await server.newLink())
  await field(page).waitFor()
  expect(await page.evaluate(() => 'isSamePage' in window)).toBe(true)
  expect(page.url()).toBe(`${server.url}/`)

  // Another link, in a tab that is signed in: nothing of the page is lost.
  await field(page).fill('Half a sentence')
  await paste(page, await server.newLink())
  await page.getByText('You were signed in already. The link is used up now.').waitFor()
  expect(page.url()).toBe(`${server.url}/`)
  await paste(page, `${server.url}/#sign-in=wrong`)
  await page.getByText('You are signed in already. The link was not taken:', { exact: false }).waitFor()
  expect(page.url()).toBe(`${server.url}/`)
  expect(await field(page).inputValue()).toBe('Half a sentence')
})

test('a link that is pasted while the code of the page is on its way signs it in', async () => {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  await context.addInitScript(() => localStorage.setItem('chirality-theme', 'dark'))
  const page = await context.newPage()
  let arrive = () => {}
  const held = new Promise<void>(resolve => {
    arrive = resolve
  })
  await page.route(/\/start-[^/]*\.js/, async route => {
    await held
    await route.continue()
  })
  await page.goto(`${server.url}/`, { waitUntil: 'commit' })
  // The first script has looked at the address by then.
  await page.locator('html[data-theme]').waitFor({ state: 'attached' })
  await paste(page, await server.newLink())
  arrive()
  await field(page).waitFor()
  expect(page.url()).toBe(`${server.url}/`)
})

test('a link that is pasted twice signs in once', async () => {
  const page = await openTab()
  const link = await server.newLink()
  await paste(page, link)
  await paste(page, link)
  await field(page).waitFor()
  expect(page.url()).toBe(`${server.url}/`)
  await page.reload()
  await field(page).waitFor()
})

test.each([
  [
    'used',
    async () => {
      const link = await server.newLink()
      await fetch(`${server.url}/api/sign-in`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: server.url },
        body: JSON.stringify({ secret: link.split('=').at(-1) }),
      })
      return link
    },
    /link/,
  ],
  ['wrong', async () => `${server.url}/#sign-in=wrong`, /link/],
  ['of another server', async () => `${server.url}/#sign-in=${'A'.repeat(43)}`, /link/],
  ['cut', async () => `${server.url}/#sign-in=`, /This is no link of this server/],
] as const)(
  'a link that is %s is refused in words, and a good one helps afterwards',
  async (_what, make, words) => {
    const page = await openTab()
    await paste(page, await make())
    const told = page.getByRole('status').filter({ hasNotText: 'This browser is not signed in.' })
    await told.filter({ hasText: words }).waitFor()
    expect(page.url()).toBe(`${server.url}/`)
    await paste(page, await server.newLink())
    await field(page).waitFor()
  },
)
