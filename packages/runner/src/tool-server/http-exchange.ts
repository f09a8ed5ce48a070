import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Refusal } from './guard.ts'

/** More than a model writes in one call. Validation of a body blocks the event loop. */
const MAX_BODY_BYTES = 1024 * 1024

export type Body = { ok: true; value: unknown } | { ok: false; status: 400 | 413; message: string }

/** Reads the JSON body up to the limit. Rejects when the client disconnects. */
export async function readJson(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = []
  let bytes = 0
  // Destroying the request would also close the connection, before the answer is sent.
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

/**
 * The request in the format of the SDK's transport, with only the headers it reads (not the token) and without the
 * body.
 */
export function toWebRequest(request: IncomingMessage, url: string): Request {
  const headers = new Headers()
  for (const name of PROTOCOL_HEADERS) {
    const value = request.headers[name]
    if (typeof value === 'string') headers.set(name, value)
  }
  return new Request(url, { method: request.method, headers })
}

const PROTOCOL_HEADERS = ['accept', 'content-type', 'mcp-session-id', 'mcp-protocol-version']

/** Sends the transport's response as it arrives. Cancels it when the client disconnects. */
export async function sendWebResponse(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  if (answer.body === null) {
    response.end()
    return
  }
  // The stream can be silent while a tool runs, but the client must learn immediately that the request was accepted.
  response.flushHeaders()
  const reader = answer.body.getReader()
  response.once('close', () => reader.cancel().catch(() => {}))
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    // Without backpressure: results are limited, so a slow client cannot accumulate much.
    response.write(part.value)
  }
  response.end()
}

/** Also closes the connection, so that the rest of the refused request is not read. */
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
