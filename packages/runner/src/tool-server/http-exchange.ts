import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Refusal } from './guard.ts'

/** More than any model writes into one call. Validating a body takes time, and the loop stands still meanwhile. */
const MAX_BODY_BYTES = 1024 * 1024

export type Body = { ok: true; value: unknown } | { ok: false; status: 400 | 413; message: string }

/** The JSON of a request, read up to the cap. Rejects when the client goes away. */
export async function readJson(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  let bytes = 0
  // Destroying the request would take the connection along, and with it the answer.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) {
      request.resume()
      return TOO_LARGE
    }
    chunks.push(chunk)
  }
  try {
    return { ok: true, value: JSON.parse(Buffer.concat(chunks).toString('utf8')) }
  } catch {
    return { ok: false, status: 400, message: 'The body is not JSON.' }
  }
}

const TOO_LARGE: Body = {
  ok: false,
  status: 413,
  message: `The body is larger than ${MAX_BODY_BYTES} bytes.`,
}

/** The request as the SDK's transport takes it: what it looks at, so not the token, and the body apart. */
export function toWebRequest(request: IncomingMessage, url: string): Request {
  const headers = new Headers()
  for (const name of PROTOCOL_HEADERS) {
    const value = request.headers[name]
    if (typeof value === 'string') headers.set(name, value)
  }
  return new Request(url, { method: request.method, headers })
}

const PROTOCOL_HEADERS = ['accept', 'content-type', 'mcp-session-id', 'mcp-protocol-version']

/** Sends what the transport answers, as it comes. Ends when the client goes away, and cancels the rest then. */
export async function sendWebResponse(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  if (answer.body === null) {
    response.end()
    return
  }
  // A stream may stay silent for as long as a tool runs; the client wants to know at once that it was accepted.
  response.flushHeaders()
  const reader = answer.body.getReader()
  response.once('close', () => reader.cancel().catch(() => {}))
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    // Not waited for: results are capped, so a slow client cannot make much pile up.
    response.write(part.value)
  }
  response.end()
}

/** Ends the connection too: the rest of a request that is not wanted is not read either. */
export function sendRefusal(response: ServerResponse, { status, message }: Refusal | Failure): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code: CODES[status], message }, id: null })
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
  })
  response.end(body)
}

export interface Failure {
  status: 400 | 404 | 413 | 500 | 503
  message: string
}

const SERVER_ERROR = -32_000
const CODES: Record<Refusal['status'] | Failure['status'], number> = {
  400: -32_700,
  401: SERVER_ERROR,
  403: SERVER_ERROR,
  404: SERVER_ERROR,
  413: SERVER_ERROR,
  500: -32_603,
  503: SERVER_ERROR,
}
