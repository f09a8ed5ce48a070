/// <reference lib="dom" />
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser } from '../../../.scripts/browser.ts'
import { openTestServer, type TestServer } from './support/test-server.ts'

let browser: Browser
let server: TestServer
let evil: { origin: string; close(): void }

const dashboard = mkdtempSync(path.join(tmpdir(), 'chirality-dashboard-'))

beforeAll(async () => {
  browser = await launchBrowser()
  writeFileSync(path.join(dashboard, 'index.html'), '<!doctype html><title>ours</title><p>ours</p>')
  server = await openTestServer({ dashboard })
  evil = await servePage('<!doctype html><title>evil</title><body></body>')
})
afterAll(async () => {
  evil.close()
  await browser.close()
  await server.dispose()
  rmSync(dashboard, { recursive: true })
})

/** A page of somebody else, on another port of the same machine. */
async function servePage(html: string): Promise<{ origin: string; close(): void }> {
  const other = createServer((_request, response) => response.end(html))
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  return { origin: `http://localhost:${port}`, close: () => other.close() }
}

async function openPage(url: string): Promise<{ page: Page; statuses: () => number[] }> {
  const page = await browser.newPage()
  const statuses: number[] = []
  page.on('response', response => {
    if (response.url().startsWith(server.url)) statuses.push(response.status())
  })
  await page.goto(url)
  return { page, statuses: () => statuses }
}

const projects = async () => {
  const response = await server.fetch('/trpc/projects.list')
  const { result } = (await response.json()) as { result: { data: unknown[] } }
  return result.data.length
}

test('another page on this machine gets nothing done', async () => {
  const { page, statuses } = await openPage(evil.origin)
  const before = await projects()
  const outcome = await page.evaluate(
    async ({ url, body }) => {
      const target = `${url}/trpc/projects.register`
      const settle = (call: Promise<Response>) => call.then(({ type }) => type).catch(() => 'failed')
      const form = new FormData()
      form.set('path', '/tmp')
      return {
        json: await settle(
          fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
        ),
        text: await settle(fetch(target, { method: 'POST', mode: 'no-cors', body })),
        multipart: await settle(fetch(target, { method: 'POST', mode: 'no-cors', body: form })),
        withCookies: await settle(
          fetch(`${url}/trpc/system.info`, { mode: 'no-cors', credentials: 'include' }),
        ),
        beacon: navigator.sendBeacon(target, new Blob([body], { type: 'text/plain' })),
        image: await new Promise(resolve => {
          const image = new Image()
          image.onload = () => resolve('loaded')
          image.onerror = () => resolve('failed')
          image.src = `${url}/trpc/system.info`
        }),
        script: await new Promise(resolve => {
          const script = document.createElement('script')
          script.onload = () => resolve('loaded')
          script.onerror = () => resolve('failed')
          script.src = `${url}/healthz`
          document.body.append(script)
        }),
      }
    },
    { url: server.url, body: JSON.stringify({ path: '/tmp' }) },
  )
  expect(outcome).toMatchObject({ json: 'failed', image: 'failed', script: 'failed' })
  expect(statuses().every(status => status === 403 || status === 405)).toBe(true)
  expect(await projects()).toBe(before)
  await page.close()
})

test('forms of another page, multipart or not, do nothing', async () => {
  const before = await projects()
  for (const type of ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']) {
    const { page } = await openPage(evil.origin)
    const [response] = await Promise.all([
      page.waitForResponse(answer => answer.url().startsWith(server.url)),
      page.evaluate(
        ({ url, enctype }) => {
          const form = document.createElement('form')
          Object.assign(form, { method: 'POST', action: `${url}/trpc/system.newSignInLink`, enctype })
          document.body.append(form)
          form.submit()
        },
        { url: server.url, enctype: type },
      ),
    ])
    expect(response.status()).toBe(403)
    await page.close()
  }
  expect(await projects()).toBe(before)
})

test('no socket opens from another page, nor from a sandboxed frame', async () => {
  const { page } = await openPage(evil.origin)
  const socketUrl = `${server.url.replace('http', 'ws')}/trpc?connectionParams=1`
  const open = `new Promise(done => {
    const socket = new WebSocket('${socketUrl}')
    socket.onopen = () => done('open')
    socket.onerror = () => done('refused')
  })`
  expect(await page.evaluate(open)).toBe('refused')
  const fromFrame = await page.evaluate(
    code =>
      new Promise(resolve => {
        addEventListener('message', event => resolve(event.data))
        const frame = document.createElement('iframe')
        frame.setAttribute('sandbox', 'allow-scripts')
        frame.srcdoc = `<script>(${code}).then(result => parent.postMessage(origin + ' ' + result, '*'))</script>`
        document.body.append(frame)
      }),
    open,
  )
  expect(fromFrame).toBe('null refused')
  await page.close()
})

test('the dashboard cannot be framed, and a link to it works', async () => {
  const { page } = await openPage(evil.origin)
  const [framed] = await Promise.all([
    page.waitForResponse(answer => answer.url().startsWith(server.url)),
    page.evaluate(url => {
      const frame = document.createElement('iframe')
      frame.src = url
      document.body.append(frame)
    }, server.url),
  ])
  expect(framed.status()).toBe(403)
  await Promise.all([
    page.waitForURL(`${server.url}/`),
    page.evaluate(url => {
      location.href = url
    }, server.url),
  ])
  expect(await page.title()).toBe('ours')
  await page.close()
})

test('its own page signs in with the link, and opens a socket', async () => {
  const { page } = await openPage(server.link)
  const result = await page.evaluate(async () => {
    const secret = location.hash.replace('#sign-in=', '')
    const headers = { 'content-type': 'application/json' }
    const response = await fetch('/api/sign-in', {
      method: 'POST',
      headers,
      body: JSON.stringify({ secret }),
    })
    const { token } = (await response.json()) as { token: string }
    const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/trpc?connectionParams=1`)
    await new Promise(resolve => socket.addEventListener('open', resolve))
    socket.send(JSON.stringify({ method: 'connectionParams', data: { token } }))
    socket.send(JSON.stringify({ id: 1, method: 'query', params: { path: 'system.info' } }))
    const message = await new Promise<string>(resolve =>
      socket.addEventListener('message', event => resolve(event.data)),
    )
    return { token, message, cookies: document.cookie, html: document.documentElement.outerHTML }
  })
  // A token of its own, which can be taken back without the others.
  expect(result.token).toMatch(/^[\w-]{43,}$/)
  expect(result.token).not.toBe(server.token)
  expect(result.message).toContain('"version":"1.2.3"')
  expect(result.cookies).toBe('')
  for (const token of [server.token, result.token]) expect(result.html).not.toContain(token)
  // Scripts that text of an agent could bring do not run.
  const ran = await page.evaluate(() => {
    const script = document.createElement('script')
    script.textContent = 'window.ran = true'
    document.body.append(script)
    return (window as { ran?: boolean }).ran === true
  })
  expect(ran).toBe(false)
  await page.close()
})
