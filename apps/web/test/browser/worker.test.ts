import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { launchBrowser } from '../../../../.scripts/browser.ts'
import { CannedApi } from '../support/canned-api.ts'
import { collectComplaints } from '../support/complaints.ts'
import { aBusyDay } from '../support/scenes.ts'
import { DIST, type StaticServerOptions, serveDashboard } from '../support/static-server.ts'
import { cachedFiles, workerInCharge } from '../support/worker.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())

async function openWithWorker(options: StaticServerOptions = {}) {
  const server = await serveDashboard(options)
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    serviceWorkers: 'allow',
  })
  onTestFinished(async () => {
    await context.close()
    await server.close()
  })
  const page = await context.newPage()
  const complaints = collectComplaints(page)
  const api = new CannedApi()
  aBusyDay(api)
  await api.connect(page)
  await page.goto(`${server.url}/s/s1#sign-in=the-secret`)
  await page.getByText('Run this command?').waitFor()
  await workerInCharge(page)
  return { server, context, page, complaints }
}

test('the worker runs under the strict policy, and keeps the files of the build and nothing else', async () => {
  const { page, complaints } = await openWithWorker()
  await page.reload()
  await page.getByText('Run this command?').waitFor()
  const files = await cachedFiles(page)
  const names = await readdir(path.join(DIST, 'assets'))
  // The compressed ones are not files of the page but another form of these.
  const built = names.filter(name => !/\.(br|gz)$/.test(name)).map(name => `/assets/${name}`)
  expect(files.map(file => file.path).sort()).toEqual(['/', ...built].sort())
  expect(new Set(files.map(({ cache }) => cache)).size).toBe(1)
  const [page1] = files.filter(file => file.path === '/')
  expect(page1?.text).toBe(await readFile(path.join(DIST, 'index.html'), 'utf8'))
  // Without its policy a page out of the cache would be an open one.
  expect(page1?.headers['content-security-policy']).toContain("script-src 'self'")
  for (const { text } of files)
    for (const secret of ['the-secret', 'canned']) expect(text).not.toContain(secret)
  expect(complaints).toEqual([])
})

test('a new build takes over, and a page of the old one still finds its parts', async () => {
  const next = await mkdtemp(path.join(tmpdir(), 'chirality-build-'))
  onTestFinished(() => rm(next, { recursive: true }))
  const { shortcuts } = await makeNextBuild(next)
  let folder = DIST
  const { server, page, complaints } = await openWithWorker({ folder: () => folder })
  const [before] = await cacheNames(page)
  folder = next
  expect((await fetch(`${server.url}${shortcuts}`)).status).toBe(404)
  await page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready
    const changed = new Promise(resolve =>
      navigator.serviceWorker.addEventListener('controllerchange', resolve, { once: true }),
    )
    await registration.update()
    await changed
  })
  expect(await cacheNames(page)).toEqual([before, expect.stringMatching(/^chirality-/)])

  // A part that it had not loaded yet, and that the server no longer has.
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor()
  await page.keyboard.press('Escape')

  // The next load is of the new build.
  await page.reload()
  await page.getByText('Run this command?').waitFor()
  expect(await page.locator('meta[name=build]').count()).toBe(1)
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Shortcuts' }).waitFor()
  expect(complaints).toEqual([])
})

test('a build that is not whole does not take over', async () => {
  const next = await mkdtemp(path.join(tmpdir(), 'chirality-build-'))
  onTestFinished(() => rm(next, { recursive: true }))
  const { renamed } = await makeNextBuild(next)
  await rm(path.join(next, renamed))
  let folder = DIST
  const { page } = await openWithWorker({ folder: () => folder })
  const before = await cacheNames(page)
  folder = next
  const outcome = await page.evaluate(async () => {
    const registration = await navigator.serviceWorker.ready
    await registration.update()
    const worker = registration.installing
    await new Promise<void>(resolve => {
      if (!worker || worker.state === 'redundant') return resolve()
      worker.addEventListener('statechange', () => worker.state === 'redundant' && resolve())
    })
    return { waiting: registration.waiting, active: registration.active?.state }
  })
  expect(outcome).toEqual({ waiting: null, active: 'activated' })
  expect(await cacheNames(page)).toEqual(before)
})

test('the server is gone: the page starts all the same, says what to do, and goes on when it is back', async () => {
  const { server, context, complaints } = await openWithWorker()
  for (const open of context.pages()) await open.close()
  await server.close()
  // The way an installed app starts: no tab that knows the token, and no link.
  const page = await context.newPage()
  await page.goto(`${server.url}/`)
  await page.getByRole('heading', { name: 'The server does not answer' }).waitFor()
  await page.getByText(`npx chirality serve --port ${server.port}`).waitFor()
  const again = await serveDashboard({ port: server.port })
  onTestFinished(() => again.close())
  await page.getByRole('heading', { name: 'Open the link of the server' }).waitFor()
  await page.getByRole('textbox', { name: 'Link' }).fill('http://127.0.0.1:1/#sign-in=x')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').filter({ hasText: 'no link of this server' }).waitFor()
  const api = new CannedApi()
  aBusyDay(api)
  await api.connect(page)
  await page.getByRole('textbox', { name: 'Link' }).fill(`${server.url}/#sign-in=another`)
  await page.keyboard.press('Enter')
  await page.getByText('Connected', { exact: true }).waitFor()
  expect(page.url()).toBe(`${server.url}/`)
  expect(complaints).toEqual([])
})

test('another program on the port gets no worker of ours in its way', async () => {
  const { server, page } = await openWithWorker()
  await server.close()
  const other = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<!doctype html><title>other</title><p>${request.headers.accept}</p>`)
  })
  await new Promise<void>(resolve => other.listen(server.port, '127.0.0.1', resolve))
  onTestFinished(() => void other.close().closeAllConnections())
  await page.goto(`${server.url}/`)
  expect(await page.title()).toBe('other')
  expect(await page.textContent('p')).toContain('text/html')
  expect(await cacheNames(page)).toEqual([])
  await page.reload()
  expect(await page.title()).toBe('other')
  expect(await page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length)).toBe(0)
})

function cacheNames(page: Page): Promise<string[]> {
  return page.evaluate(() => caches.keys())
}

/** The build, with one part under another name, as after a change of its source. */
async function makeNextBuild(folder: string): Promise<{ shortcuts: string; renamed: string }> {
  await cp(DIST, folder, { recursive: true })
  const assets = path.join(folder, 'assets')
  const names = await readdir(assets)
  const old = names.find(name => /^Shortcuts-.*\.js$/.test(name)) ?? ''
  const changed = 'Shortcuts-ABCDEFGH.js'
  await rename(path.join(assets, old), path.join(assets, changed))
  for (const file of [
    ...names.filter(name => name !== old).map(name => `assets/${name}`),
    'sw.js',
    'index.html',
  ]) {
    if (!/\.(?:js|html)$/.test(file)) continue
    const text = await readFile(path.join(folder, file), 'utf8')
    const version = text.replaceAll(old, changed).replace(/"version":"\w+"/, '"version":"next"')
    await writeFile(
      path.join(folder, file),
      version.replace('</head>', '<meta name="build" content="2" /></head>'),
    )
  }
  return { shortcuts: `/assets/${old}`, renamed: `assets/${changed}` }
}
