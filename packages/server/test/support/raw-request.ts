import { type Agent, type ClientRequest, type IncomingHttpHeaders, request } from 'node:http'

export interface RawRequest {
  method?: string
  path: string
  /** Sent exactly so; undefined leaves a header out, also Host. */
  headers?: Record<string, string | string[] | undefined>
  body?: string
}

export interface RawResponse {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

/** HTTP as a program can send it, with headers that `fetch` would not. A stream is left after its headers. */
export function rawRequest(port: number, options: RawRequest, agent?: Agent): Promise<RawResponse> {
  const { method = 'GET', path, headers = {}, body } = options
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
  return new Promise((resolve, reject) => {
    const call: ClientRequest = request(
      {
        port,
        host: '127.0.0.1',
        method,
        path,
        agent,
        setHost: false,
        headers: sent as Record<string, string>,
      },
      response => {
        const { statusCode: status = 0, headers: received } = response
        if (received['content-type']?.startsWith('text/event-stream')) {
          call.destroy()
          resolve({ status, headers: received, text: '' })
          return
        }
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () => resolve({ status, headers: received, text }))
        response.on('error', reject)
      },
    )
    call.on('error', reject)
    call.on('upgrade', (response, socket) => {
      socket.destroy()
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text: '' })
    })
    call.end(body)
  })
}

export const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}
