import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'

const DIST = path.join(import.meta.dirname, '../../dist')

/** Stricter than what the server sends: no inline style may be needed either. */
const POLICY =
  "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self' ws:; worker-src 'self'"

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
}

export interface StaticServer {
  url: string
  close(): Promise<void>
}

/** The built dashboard and the sign-in, under a strict policy. What the page asks by tRPC is answered elsewhere. */
export async function serveDashboard(): Promise<StaticServer> {
  const server = createServer(async (request, response) => {
    if (request.method === 'POST' && request.url === '/api/sign-in') {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ token: 'canned' }))
      return
    }
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const file = path.join(DIST, path.normalize(pathname))
    const isFile = file.startsWith(DIST) && path.extname(file) !== ''
    try {
      const body = await readFile(isFile ? file : path.join(DIST, 'index.html'))
      response.setHeader('content-security-policy', POLICY)
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
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
