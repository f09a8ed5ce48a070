import { createReadStream } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import path from 'node:path'
import { HttpError } from './http-error.ts'

/** Serves the built dashboard. A path without a file gets the app's page, which does its own routing. */
export class StaticFiles {
  readonly #folder: string | undefined
  #realFolder: Promise<string | undefined> | undefined

  constructor(folder: string | undefined) {
    this.#folder = folder
  }

  async serve(request: IncomingMessage, response: ServerResponse, pathname: string): Promise<void> {
    const root = await this.#root()
    if (root === undefined) throw new HttpError(404, 'no-dashboard', NO_DASHBOARD)
    const wanted = safePath(pathname)
    const found = wanted === undefined ? undefined : await openInside(root, wanted)
    const file = found ?? (isPageOfApp(wanted) ? await openInside(root, 'index.html') : undefined)
    if (file === undefined) throw new HttpError(404, 'not-found', 'There is no such file.')
    await send(await smaller(root, file, request), request, response)
  }

  #root(): Promise<string | undefined> {
    const folder = this.#folder
    this.#realFolder ??=
      folder === undefined ? Promise.resolve(undefined) : realpath(folder).catch(() => undefined)
    return this.#realFolder
  }
}

const NO_DASHBOARD =
  'The dashboard is not built here. Run `npm start` in the project of Chirality, or use the API.'

interface OpenFile {
  path: string
  handle: FileHandle
  size: number
  modifiedMs: number
  /** Whether the build has a compressed copy of the file. Undefined if it cannot have one. */
  encoding?: 'br' | 'gzip' | 'identity'
}

/** Undefined for a path that cannot be a file of the dashboard: `..`, dot files, NUL, backslashes, invalid escapes. */
function safePath(pathname: string): string | undefined {
  const decoded = decode(pathname)
  if (decoded === undefined || /[\0\\]/.test(decoded)) return undefined
  const parts = decoded.split('/').filter(part => part !== '')
  if (parts.some(part => part.startsWith('.'))) return undefined
  return parts.length === 0 ? 'index.html' : parts.join('/')
}

function decode(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return undefined
  }
}

function isPageOfApp(wanted: string | undefined): boolean {
  return wanted !== undefined && !wanted.startsWith('assets/') && path.extname(wanted) === ''
}

async function openInside(root: string, relative: string): Promise<OpenFile | undefined> {
  const real = await realpath(path.join(root, relative)).catch(() => undefined)
  if (real === undefined || !real.startsWith(root + path.sep)) return undefined
  const handle = await open(real, 'r').catch(() => undefined)
  const stats = await handle?.stat()
  if (handle !== undefined && stats?.isFile()) {
    return { path: real, handle, size: stats.size, modifiedMs: stats.mtimeMs }
  }
  await handle?.close()
  return undefined
}

/**
 * The compressed copy from the build, for a browser that accepts it. Only these files: only the build writes them. API
 * answers are never compressed: they contain secrets beside text that others control, and their length would reveal the
 * secrets.
 */
async function smaller(root: string, file: OpenFile, { headers }: IncomingMessage): Promise<OpenFile> {
  if (!COMPRESSED.has(path.extname(file.path))) return file
  const taken = takenEncodings(headers['accept-encoding'])
  for (const [encoding, extension] of ENCODINGS) {
    if (!taken.has(encoding)) continue
    const other = await openInside(root, `${path.relative(root, file.path)}${extension}`)
    if (other === undefined) continue
    // An older copy was made from another file.
    if (other.modifiedMs >= file.modifiedMs) {
      await file.handle.close()
      return { ...other, path: file.path, encoding }
    }
    await other.handle.close()
  }
  return { ...file, encoding: 'identity' }
}

const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const
const COMPRESSED: ReadonlySet<string> = new Set(['.html', '.js', '.css', '.json', '.svg'])

/** Without the encodings that the browser refuses: `gzip;q=0`. */
function takenEncodings(header: string | string[] | undefined): Set<string> {
  const entries = String(header ?? '')
    .toLowerCase()
    .split(',')
  const wanted = entries.filter(entry => !/;\s*q=0(\.0*)?\s*$/.test(entry))
  return new Set(wanted.map(entry => entry.split(';', 1)[0]?.trim() ?? ''))
}

async function send(file: OpenFile, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { encoding } = file
  const isEncoded = encoding !== undefined && encoding !== 'identity'
  const version = `${file.size.toString(36)}-${Math.floor(file.modifiedMs).toString(36)}`
  const etag = `"${version}${isEncoded ? `-${encoding}` : ''}"`
  const extension = path.extname(file.path)
  const headers = {
    ...(extension === '.html' ? OURS : {}),
    'content-type': CONTENT_TYPES[extension] ?? 'application/octet-stream',
    'cache-control': HASHED_NAME.test(file.path) ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag,
    ...(encoding === undefined ? {} : { vary: 'accept-encoding' }),
    ...(isEncoded ? { 'content-encoding': encoding } : {}),
  }
  const unchanged = request.headers['if-none-match'] === etag
  if (unchanged || request.method === 'HEAD') {
    await file.handle.close()
    response.writeHead(
      unchanged ? 304 : 200,
      unchanged ? headers : { ...headers, 'content-length': file.size },
    )
    response.end()
    return
  }
  if (response.destroyed) return file.handle.close()
  response.writeHead(200, { ...headers, 'content-length': file.size })
  const stream = createReadStream(file.path, { fd: file.handle, end: Math.max(0, file.size - 1) })
  stream.on('error', () => response.destroy())
  response.on('close', () => stream.destroy())
  stream.pipe(response)
}

/**
 * By this header the dashboard's service worker recognises a page of this server, and not of another program that uses
 * the port later.
 */
const OURS = { 'x-chirality': 'dashboard' }

/** The bundler puts a hash of the content into these names, so they never change. */
const HASHED_NAME = /[\\/]assets[\\/][^\\/]+-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$/

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
}
