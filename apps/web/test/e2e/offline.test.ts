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

test('the server stops and comes back: the page says how to start it, and goes on', async () => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
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

  // Each start has a token of its own, so this tab needs the new link; opened in any tab, it lets this one in.
  server = await start(port)
  await page.getByText('The server was started anew.').waitFor()
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
  expect(await axeViolations(page)).toEqual([])
  const other = await context.newPage()
  await other.goto(server.link)
  await page.getByText('● connected').waitFor()
  await page
    .getByRole('link', { name: /Mend the failing test/ })
    .first()
    .waitFor()
  // The one that was not loaded again goes on, too, whenever it notices that its token is worth nothing.
  await visitor.getByText('● connected').waitFor()
  await visitor.getByRole('heading', { name: 'All sessions' }).waitFor()
}, 180_000)

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
