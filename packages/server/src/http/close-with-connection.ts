import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const answers = new WeakMap<Socket, Set<ServerResponse>>()

/** Far more than a browser or a script has under way at once. */
const MAX_WAITING = 128

/**
 * Resolves when the answers before this one on the same connection are sent: what waits behind a reader that does not read opens no
 * file and does no work. False when it is too late, or when there are too many: then the connection ends.
 */
export async function whenItsTurn({ socket }: IncomingMessage, response: ServerResponse): Promise<boolean> {
  const open = [...(answers.get(socket) ?? [])]
  if (open.length > MAX_WAITING) socket.destroy()
  const before = open[open.indexOf(response) - 1]
  if (before !== undefined) await new Promise<void>(resolve => before.once('close', resolve))
  return !response.destroyed
}

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
