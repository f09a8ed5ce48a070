import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Every connection of some servers. Node loses track of upgraded and refused ones, and would wait for them forever when
 * it closes.
 */
export class OpenSockets {
  /** Oldest first. */
  readonly #sockets = new Map<string, Socket>()
  readonly #trusted = new Set<string>()

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const name = nameOf(socket)
      this.#sockets.set(name, socket)
      if (this.#sockets.size > CROWDED) this.#dropStranger(name)
      socket.once('close', () => {
        if (this.#sockets.get(name) !== socket) return
        this.#sockets.delete(name)
        this.#trusted.delete(name)
      })
    })
  }

  /** A connection with a valid token: it is never closed to make room. */
  trust(socket: Socket): void {
    const name = nameOf(socket)
    if (this.#sockets.has(name)) this.#trusted.add(name)
  }

  /**
   * Closes the oldest connection without a token, whatever it sent: a half-written request occupies a place as silence
   * does. The new connection has not had its chance yet.
   */
  #dropStranger(newcomer: string): void {
    for (const [name, socket] of this.#sockets) {
      if (name === newcomer || this.#trusted.has(name) || socket.destroyed) continue
      socket.destroy()
      return
    }
  }

  get size(): number {
    return this.#sockets.size
  }

  destroy(): void {
    for (const socket of this.#sockets.values()) socket.destroy()
  }
}

/** By both of its addresses: with TLS a request's socket is another object than its connection's. */
function nameOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress}:${localPort} ${remoteAddress}:${remotePort}`
}

/** Well below the server's own limit. */
const CROWDED = 1024
