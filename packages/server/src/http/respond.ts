import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HttpError } from './http-error.ts'

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value))
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
    'cache-control': 'no-store',
  })
  response.end(response.req.method === 'HEAD' ? undefined : body)
}

export function sendNothing(response: ServerResponse): void {
  response.writeHead(204).end()
}

/** Errors in the same form for every route. The connection is closed if a body may still arrive. */
export function sendError(response: ServerResponse, { status, code, message }: HttpError): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (!response.req.complete) response.setHeader('connection', 'close')
  sendJson(response, status, { error: { code, message } })
}

/**
 * The last answer on a connection. It does not wait for the client to read or close: one that does neither would stay
 * forever.
 */
export function endSocket(socket: Duplex, status: number): void {
  const deadline = setTimeout(() => socket.destroy(), LAST_WORD_MS)
  socket.once('close', () => clearTimeout(deadline))
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    () => socket.destroy(),
  )
}

const LAST_WORD_MS = 1000

/** Headers of every answer. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    // Agents' text is shown in the page: no injected code may run, or reach another host.
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "manifest-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
}
