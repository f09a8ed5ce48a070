import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const answers = new WeakMap<Socket, Set<ServerResponse>>()

/**
 * Closes an answer with its connection. Node does that for the one that is being sent; those that wait behind it would never
 * hear of it, and keep what they opened for ever.
 */
export function closeWithConnection({ socket }: IncomingMessage, response: ServerResponse): void {
  const open = answers.get(socket) ?? watch(socket)
  open.add(response)
  response.once('close', () => open.delete(response))
}

function watch(socket: Socket): Set<ServerResponse> {
  const open = new Set<ServerResponse>()
  answers.set(socket, open)
  socket.once('close', () => {
    for (const response of [...open]) {
      if (response.destroyed) continue
      response.destroy()
      response.emit('close')
    }
  })
  return open
}
