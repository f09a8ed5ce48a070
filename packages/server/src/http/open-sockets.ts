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
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  get size(): number {
    return this.#sockets.size
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
