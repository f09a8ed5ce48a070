import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Every connection of some servers. Node itself loses sight of those that were upgraded or refused, and then waits for them, for
 * ever, when it closes.
 */
export class OpenSockets {
  readonly #sockets = new Set<Socket>()

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      if (this.#sockets.size > CROWDED) this.#dropSilent()
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  /** The one that has been here longest without a word makes room: whoever has something to say gets a place. */
  #dropSilent(): void {
    for (const socket of this.#sockets) {
      if (socket.bytesRead > 0 || socket.destroyed) continue
      socket.destroy()
      return
    }
  }

  get size(): number {
    return this.#sockets.size
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

/** Well below what the server takes at all. */
const CROWDED = 1024
