// @ts-check
import { connect, createServer } from 'node:net'

/**
 * One port of the host's loopback, reached by a socket of the cage.
 * @param {string} socket
 * @param {number} port
 */
export function listenTunnel(socket, port) {
  const server = createServer({ allowHalfOpen: true }, inside => {
    join(inside, connect({ host: '127.0.0.1', port, allowHalfOpen: true }))
  })
  return listening(server, socket)
}

/**
 * @param {import('node:net').Socket} one
 * @param {import('node:net').Socket} other
 */
export function join(one, other) {
  one.on('error', () => other.destroy())
  other.on('error', () => one.destroy())
  one.once('close', () => other.destroy())
  other.once('close', () => one.destroy())
  one.pipe(other)
  other.pipe(one)
}

/**
 * @param {import('node:net').Server} server
 * @param {string} socket
 * @returns {Promise<void>}
 */
export function listening(server, socket) {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(socket, () => resolve())
  })
}
