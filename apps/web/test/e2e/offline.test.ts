import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { axeViolations } from '../support/axe.ts'
import { collectComplaints } from '../support/complaints.ts'
import { type ServerProcess, startServerProcess } from '../support/server-process.ts'
import { cachedFiles, workerInCharge } from '../support/worker.ts'

let browser: Browser
let home: string
let server: ServerProcess

const start = (port: string) =>
  startServerProcess(['--demo', '--port', port], {
    PATH: process.env.PATH ?? '',
    HOME: home,
    TMPDIR: home,
    CHIRALITY_HOME: path.join(home, 'data'),
  })

beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'chirality-offline-'))
  server = await start('0')
  browser = await launchBrowser()
})

afterAll(async () => {
  await browser?.close()
  await server?.stop()
  await rm(home, { recursive: true, force: true })
})

test('the server stops and comes back: the page says how to start it, and goes on by itself', async () => {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    serviceWorkers: 'allow',
  })
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const complaints = collectComplaints(page)
  await page.goto(server.link)
  await page
    .getByRole('link', { name: /Mend the failing test/ })
    .first()
    .waitFor()
  await workerInCharge(page)
  const { port } = new URL(server.url)

  // The policy of the page holds for the one that is kept; what was said and the keys to it are nowhere.
  const files = await cachedFiles(page)
  const policy = (await fetch(server.url)).headers.get('content-security-policy')
  expect(files.find(file => file.path === '/')?.headers['content-security-policy']).toBe(policy)
  expect(files.filter(file => !/^\/(?:assets\/[^/]+)?$/.test(file.path))).toEqual([])
  const secret = new URL(server.link).hash.split('=')[1] ?? ''
  for (const { text } of files) {
    expect(text).not.toContain(server.token)
    expect(text).not.toContain(secret)
  }

  // A link on another site still leads here, through the worker and past the guard.
  const elsewhere = await servePage(`<a href="${server.url}/fleet">there</a>`)
  const visitor = await context.newPage()
  await visitor.goto(elsewhere)
  await visitor.getByRole('link').click()
  await visitor.getByRole('heading', { name: 'All sessions' }).waitFor()
  expect(complaints).toEqual([])

  await server.stop()
  await page.getByRole('alert').filter({ hasText: 'No connection' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'The server does not answer' }).waitFor()
  await page.getByText(`npx chirality serve --port ${port}`).waitFor()
  expect(await axeViolations(page)).toEqual([])

  // Each start has tokens of its own; this browser has a key, and needs no link.
  server = await start(port)
  const session = page.getByRole('link', { name: /Mend the failing test/ }).first()
  await session.waitFor()
  await page.getByText('Connected', { exact: true }).waitFor()
  // The one that was not loaded again goes on, too.
  await visitor.getByText('Connected', { exact: true }).waitFor()
  await visitor.getByRole('heading', { name: 'All sessions' }).waitFor()
  await visitor.close()

  // A tab that was closed: the bare address is enough.
  await page.close()
  const again = await context.newPage()
  await again.goto(server.url)
  await again.getByText('Connected', { exact: true }).waitFor()
  expect(await again.evaluate(() => Object.keys(localStorage).filter(key => /token|key/.test(key)))).toEqual(
    [],
  )

  // A second browser needs a link, once; a link that was used is refused in words.
  const phone = await browser.newContext({ serviceWorkers: 'allow' })
  onTestFinished(() => phone.close())
  const second = await phone.newPage()
  await second.goto(server.url)
  await second.getByText('This browser is not signed in.').waitFor()
  await second.getByText(`npx chirality link --port ${port}`).waitFor()
  expect(await axeViolations(second)).toEqual([])
  const link = await server.newLink()
  await second.getByRole('textbox', { name: 'Link' }).fill(link)
  await second.getByRole('button', { name: 'Sign in' }).click()
  await second.getByText('Connected', { exact: true }).waitFor()
  const third = await browser.newContext({ serviceWorkers: 'allow' })
  onTestFinished(() => third.close())
  const late = await third.newPage()
  await late.goto(link)
  await late.getByText('This link was used before').waitFor()

  // Signed out from another browser, it is out at once and stays out; the other is not.
  await again.keyboard.press('Control+k')
  await again.getByRole('option', { name: 'Signed-in browsers' }).click()
  const browsers = again.getByRole('dialog', { name: 'Signed-in browsers' })
  const signOut = browsers.getByRole('button', { name: /^Sign out/ })
  await expect.poll(() => signOut.count()).toBe(2)
  expect(await axeViolations(again)).toEqual([])
  const own = browsers.getByRole('button', { name: /this browser/ })
  await expect.poll(() => own.count()).toBe(1)
  await signOut.and(again.locator(':not([aria-label*="this browser"])')).click()
  await second.getByText('This browser is not signed in here any more.').waitFor()
  await expect.poll(() => signOut.count()).toBe(1)
  await second.goto(server.url)
  await second.getByText('This browser is not signed in.').waitFor()
  await again.reload()
  await again.getByText('Connected', { exact: true }).waitFor()
  await again.keyboard.press('Control+k')
  await again.getByRole('option', { name: 'Signed-in browsers' }).click()
  await own.click()
  await again.getByText('This browser is not signed in here any more.').waitFor()
})

/** A page of another site on this machine. */
async function servePage(html: string): Promise<string> {
  const site = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><title>elsewhere</title>${html}`)
  })
  await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void site.close().closeAllConnections())
  return `http://localhost:${(site.address() as AddressInfo).port}/`
}
