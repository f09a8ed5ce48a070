import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { build, type Rolldown } from 'vite'

/** Builds the page of a folder as the dashboard is built, and serves it from memory. */
export async function serveBuiltPage(folder: string): Promise<{ url: string; close(): void }> {
  const result = await build({
    root: folder,
    configFile: path.join(import.meta.dirname, '../vite.config.ts'),
    logLevel: 'error',
    build: { write: false },
  })
  const { output } = (Array.isArray(result) ? result[0] : result) as Rolldown.RolldownOutput
  const files = new Map(
    output.map(file => [`/${file.fileName}`, file.type === 'chunk' ? file.code : file.source]),
  )
  const server = createServer((request, response) => {
    const name = request.url === '/' ? '/index.html' : (request.url ?? '')
    response.setHeader('content-type', TYPES[path.extname(name)] ?? 'application/octet-stream')
    response.statusCode = files.has(name) ? 200 : 404
    response.end(files.get(name) ?? '')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
}
