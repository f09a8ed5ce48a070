import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { rawRequest } from './support/raw-request.ts'
import { startTestServer } from './support/test-server.ts'

async function serveDashboard() {
  const server = await startTestServer()
  const dashboard = path.join(server.home, 'dashboard')
  mkdirSync(path.join(dashboard, 'assets'), { recursive: true })
  const put = (file: string, text: string) => writeFileSync(path.join(dashboard, file), text)
  put('index.html', '<!doctype html><title>ours</title>')
  put('assets/index-B9vLl8Dv.js', 'export {}')
  put('assets/plain.css', 'p {}')
  put('sw.js', 'self')
  put('.secret', 'secret')
  put('empty.txt', '')
  writeFileSync(path.join(server.home, 'secret.txt'), 'secret')
  mkdirSync(path.join(server.home, 'dashboard-evil'))
  writeFileSync(path.join(server.home, 'dashboard-evil', 'x.txt'), 'secret')
  symlinkSync('../secret.txt', path.join(dashboard, 'link.txt'))
  const { port, host: _host, ...rest } = await startTestServer({ dashboard })
  const get = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
    rawRequest(port, { method, path: url, headers: { host: `127.0.0.1:${port}`, ...headers } })
  return { ...rest, get }
}

test('files are served with their type, and hashed ones for ever', async () => {
  const { get } = await serveDashboard()
  const page = await get('/')
  expect(page).toMatchObject({ status: 200, text: '<!doctype html><title>ours</title>' })
  expect(page.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    // By which the service worker knows that it is us.
    'x-chirality': 'dashboard',
  })
  const script = await get('/assets/index-B9vLl8Dv.js')
  expect(script).toMatchObject({ status: 200, text: 'export {}' })
  expect(script.headers['cache-control']).toContain('immutable')
  expect(script.headers).not.toHaveProperty('x-chirality')
  const worker = await get('/sw.js')
  expect(worker.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'no-cache',
  })
  expect(worker.headers).not.toHaveProperty('service-worker-allowed')
  expect((await get('/assets/plain.css')).headers['cache-control']).toBe('no-cache')
  expect(await get('/empty.txt')).toMatchObject({ status: 200, text: '' })
})

test('what did not change is not sent again', async () => {
  const { get } = await serveDashboard()
  const { headers } = await get('/')
  expect(await get('/', { 'if-none-match': headers.etag ?? '' })).toMatchObject({ status: 304, text: '' })
  expect(await get('/', {}, 'HEAD')).toMatchObject({ status: 200, text: '' })
})

test('pages of the app are the app, and missing files are missing', async () => {
  const { get } = await serveDashboard()
  for (const url of ['/sessions/123', '/settings', '/deep/er/page'])
    expect(await get(url)).toMatchObject({ status: 200, text: expect.stringContaining('ours') })
  for (const url of ['/assets/gone.js', '/assets/gone', '/favicon.ico', '/x.js'])
    expect((await get(url)).status, url).toBe(404)
})

test('nothing else of the disk is served', async () => {
  const { get } = await serveDashboard()
  const urls = [
    ...[
      '/../secret.txt',
      '/%2e%2e/secret.txt',
      '/..%2fsecret.txt',
      '/assets/../../secret.txt',
      '/link.txt',
      '/.secret',
    ],
    ...[
      '/%2e%2e%2fdashboard-evil/x.txt',
      '/..%5csecret.txt',
      '/a%00.html',
      '/%',
      '/assets/%252e%252e/secret.txt',
      '//etc/passwd',
    ],
  ]
  for (const url of urls) {
    const { status, text } = await get(url)
    expect(text, url).not.toContain('secret')
    expect(text, url).not.toContain('root:')
    expect([200, 400, 404], url).toContain(status)
  }
})

test('a dashboard that is not built says what to do', async () => {
  const server = await startTestServer({ dashboard: '/no/such/folder' })
  const response = await fetch(server.url)
  expect([response.status, await response.json()]).toMatchObject([404, { error: { code: 'no-dashboard' } }])
})
