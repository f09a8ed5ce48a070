import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'

export const DIST = path.join(import.meta.dirname, '../../dist')

/** Stricter than what the server sends: no inline style may be needed either. */
const POLICY =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self' ws:; worker-src 'self'"

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
}

export interface StaticServer {
  url: string
  port: number
  close(): Promise<void>
}

export interface StaticServerOptions {
  /** Any free one, unless it is named. */
  port?: number
  /** Asked at each request, for builds that change while the server runs. */
  folder?: () => string
  /** Sends the compressed copies of the build, as the real server does. */
  compressed?: boolean
}

/** The built dashboard and the sign-in, under a strict policy. What the page asks by tRPC is answered elsewhere. */
export async function serveDashboard({
  port: wanted = 0,
  folder = () => DIST,
  compressed = false,
}: StaticServerOptions = {}): Promise<StaticServer> {
  const server = createServer(async (request, response) => {
    if (request.method === 'POST' && request.url === '/api/sign-in') {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ token: 'canned' }))
      return
    }
    // Whether it still takes the token of the page.
    if (request.url === '/trpc/system.info') {
      response.end('{}')
      return
    }
    if (request.url === '/healthz') {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ status: 'ok', name: 'chirality' }))
      return
    }
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const dist = folder()
    const file = path.join(dist, path.normalize(pathname))
    const isFile = file.startsWith(dist) && path.extname(file) !== ''
    try {
      const found = isFile ? file : path.join(dist, 'index.html')
      const small =
        compressed && takesBrotli(request) ? await readFile(`${found}.br`).catch(() => null) : null
      const body = small ?? (await readFile(found))
      if (small) response.setHeader('content-encoding', 'br')
      response.setHeader('content-security-policy', POLICY)
      response.setHeader('cache-control', 'no-cache')
      if (!isFile) response.setHeader('x-chirality', 'dashboard')
      response.setHeader(
        'content-type',
        TYPES[isFile ? path.extname(file) : '.html'] ?? 'application/octet-stream',
      )
      response.end(body)
    } catch {
      response.statusCode = 404
      response.end()
    }
  })
  await new Promise<void>(resolve => server.listen(wanted, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function takesBrotli({ headers }: IncomingMessage): boolean {
  return /\bbr\b/.test(String(headers['accept-encoding']))
}
