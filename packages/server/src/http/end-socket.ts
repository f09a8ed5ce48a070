import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/**
 * The last word on a connection. Whether the other side closes, too, or reads it at all, is not waited for: one that does
 * neither would stay for ever.
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
