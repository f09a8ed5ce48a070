// @ts-check
import { createServer } from 'node:http'
import { listening } from './tunnel.mjs'

/** The probe asks for this name: an answer proves that the attempts could have reached the proxy. */
export const CONTROL_HOST = 'control.chirality.invalid'

/**
 * The proxy that the agent's programs find in their environment. No host is open, so each request gets the reason.
 * @param {string} socket
 * @param {string} nonce
 */
export function listenProxy(socket, nonce) {
  const server = createServer((request, answer) => {
    const isControl = request.headers.host === CONTROL_HOST
    const text = isControl ? nonce : refusal(hostOf(request.url ?? ''))
    answer.writeHead(isControl ? 200 : 403, {
      'Content-Type': 'text/plain',
      'Content-Length': Buffer.byteLength(text),
      Connection: 'close',
    })
    answer.end(text)
  })
  server.on('connect', (request, inside) => {
    inside.on('error', () => {})
    const text = refusal(request.url ?? '')
    inside.end(
      `HTTP/1.1 403 Blocked by the cage\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    )
  })
  return listening(server, socket)
}

/** @param {string} host */
function refusal(host) {
  return `Chirality's cage does not let this session reach ${host}. This is the user's policy, not a fault of the network: do not try another way, say what you need instead.\n`
}

/** @param {string} url */
function hostOf(url) {
  return URL.canParse(url) ? new URL(url).host : 'this address'
}
