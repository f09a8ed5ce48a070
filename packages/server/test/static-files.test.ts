import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
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

test('an unchanged file is not sent again', async () => {
  const { get } = await serveDashboard()
  const { headers } = await get('/')
  expect(await get('/', { 'if-none-match': headers.etag ?? '' })).toMatchObject({ status: 304, text: '' })
  expect(await get('/', {}, 'HEAD')).toMatchObject({ status: 200, text: '' })
})

test('a browser gets what the build compressed, in the best form that it takes', async () => {
  const server = await startTestServer()
  const dashboard = path.join(server.home, 'dashboard')
  mkdirSync(path.join(dashboard, 'assets'), { recursive: true })
  const script = 'export const words = "the same words again and again"\n'.repeat(200)
  const file = path.join(dashboard, 'assets', 'index-B9vLl8Dv.js')
  writeFileSync(file, script)
  writeFileSync(`${file}.br`, brotliCompressSync(script))
  writeFileSync(`${file}.gz`, gzipSync(script))
  writeFileSync(path.join(dashboard, 'index.html'), '<!doctype html>')
  const { url } = await startTestServer({ dashboard })
  const get = async (encodings: string, name = 'assets/index-B9vLl8Dv.js') => {
    const response = await fetch(`${url}/${name}`, { headers: { 'accept-encoding': encodings } })
    const { headers } = response
    return { headers: Object.fromEntries(headers), text: await response.text() }
  }
  const plain = await get('identity')
  const gzip = await get('gzip;q=1.0, deflate')
  const brotli = await get('gzip, deflate, BR, zstd')
  expect([plain.text, gzip.text, brotli.text]).toEqual([script, script, script])
  expect(plain.headers).not.toHaveProperty('content-encoding')
  expect(gzip.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
  expect(brotli.headers).toMatchObject({
    'content-encoding': 'br',
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': expect.stringContaining('immutable'),
    vary: 'accept-encoding',
  })
  expect(Number(brotli.headers['content-length'])).toBeLessThan(script.length / 10)
  expect(new Set([plain, gzip, brotli].map(({ headers }) => headers.etag)).size).toBe(3)
  expect((await get('br;q=0, gzip; q=0.0')).headers).not.toHaveProperty('content-encoding')
  // A file without a compressed one, and one whose compressed one is of an earlier build.
  expect((await get('br', '')).text).toBe('<!doctype html>')
  utimesSync(`${file}.br`, 1, 1)
  expect((await get('br, gzip')).headers).toMatchObject({ 'content-encoding': 'gzip' })
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
