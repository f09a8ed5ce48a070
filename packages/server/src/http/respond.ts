import type { ServerResponse } from 'node:http'
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

/** Errors in one shape for every route. The connection ends where a body may still be on its way. */
export function sendError(response: ServerResponse, { status, code, message }: HttpError): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (!response.req.complete) response.setHeader('connection', 'close')
  sendJson(response, status, { error: { code, message } })
}
