// @ts-check
import { createServer, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { listening } from './tunnel.mjs'

/**
 * Leads to one server of the vendor. The real key is put in here, and a request without the placeholder is refused: with
 * a key of somebody else the agent could send files to another account of the same vendor.
 * @param {string} socket
 * @param {import('../cage-plan.ts').CageGateway} gateway
 */
export function listenGateway(socket, { upstream, keys }) {
  const base = new URL(upstream)
  const send = base.protocol === 'https:' ? httpsRequest : httpRequest
  const server = createServer({ requestTimeout: 0 }, (inside, answer) => {
    const headers = withRealKeys(inside.rawHeaders, keys)
    if (headers === undefined) return refuse(answer)
    const outside = send(
      base,
      {
        method: inside.method,
        path: `${base.pathname.replace(/\/$/, '')}${inside.url}`,
        headers: [...headers, 'Host', base.host],
        agent: false,
      },
      response => {
        answer.writeHead(response.statusCode ?? 502, response.rawHeaders)
        response.pipe(answer)
        response.on('error', () => answer.destroy())
      },
    )
    outside.on('error', error => {
      if (answer.headersSent) return answer.destroy()
      answer.writeHead(502, { 'Content-Type': 'text/plain' })
      answer.end(`${base.host} cannot be reached: ${error.message}\n`)
    })
    answer.on('close', () => outside.destroy())
    inside.pipe(outside)
  })
  // A model may think for longer than any default of Node.
  server.timeout = 0
  server.keepAliveTimeout = 0
  return listening(server, socket)
}

/**
 * The headers with the real keys; undefined if a credential is none of the placeholders.
 * @param {string[]} raw
 * @param {{ placeholder: string, real: string }[]} keys
 */
function withRealKeys(raw, keys) {
  const headers = []
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] ?? ''
    let value = raw[at + 1] ?? ''
    const folded = name.toLowerCase()
    if (folded === 'host' || folded === 'connection') continue
    const isCredential = CREDENTIALS.has(folded)
    if (isCredential && !keys.some(({ placeholder }) => value.includes(placeholder))) return undefined
    // Only in a credential: in another header the server could send it back.
    if (isCredential) for (const { placeholder, real } of keys) value = value.split(placeholder).join(real)
    headers.push(name, value)
  }
  return headers
}

const CREDENTIALS = new Set(['authorization', 'x-api-key', 'api-key', 'proxy-authorization', 'cookie'])

/** @param {import('node:http').ServerResponse} answer */
function refuse(answer) {
  answer.writeHead(403, { 'Content-Type': 'text/plain', Connection: 'close' })
  answer.end('The cage sends only the credential that it gave to the agent. This is policy, not a fault.\n')
}
