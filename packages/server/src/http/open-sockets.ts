import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Every connection of some servers. Node itself loses sight of those that were upgraded or refused, and then waits for them, for
 * ever, when it closes.
 */
export class OpenSockets {
  /** The oldest first. */
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

  /** A connection that has shown a token: from now on it makes room for nobody. */
  trust(socket: Socket): void {
    const name = nameOf(socket)
    if (this.#sockets.has(name)) this.#trusted.add(name)
  }

  /**
   * The one that has been here longest without a token makes room, whatever it said meanwhile: a half-written request keeps a
   * place as well as silence does. The newcomer has not had its chance yet.
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

/** By its two ends: with TLS the socket of a request is another object than that of its connection. */
function nameOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress}:${localPort} ${remoteAddress}:${remotePort}`
}

/** Well below what the server takes at all. */
const CROWDED = 1024
