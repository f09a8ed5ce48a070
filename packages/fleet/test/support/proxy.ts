import { createServer, connect as dial, type Socket } from 'node:net'
import { later } from './fleet.ts'
import { freePort } from './nats.ts'

/**
 * Between a machine and the broker. `cut` ends the connections and lets none through; `swallow` keeps them open and lets
 * nothing through, as a network does that is gone.
 */
export async function proxy(to: number) {
  const sockets = new Set<Socket>()
  let state: 'open' | 'cut' | 'swallows' = 'open'
  const server = createServer(socket => {
    if (state === 'cut') return void socket.destroy()
    const other = dial(to, '127.0.0.1')
    for (const [one, next] of [
      [socket, other],
      [other, socket],
    ] as const) {
      sockets.add(one)
      one
        .on('data', bytes => void (state === 'open' && next.write(bytes)))
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(one)
          // A network that is gone does not say that the other side closed.
          if (state === 'open') next.destroy()
        })
    }
  })
  const port = await freePort()
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const drop = () => {
    for (const socket of sockets) socket.destroy()
  }
  later(() => {
    drop()
    server.close()
  })
  return {
    port,
    cut: () => {
      state = 'cut'
      drop()
    },
    swallow: () => {
      state = 'swallows'
    },
    mend: () => {
      // Half a message is damaged.
      drop()
      state = 'open'
    },
  }
}

export const portOf = (url: string) => Number(url.split(':').at(-1))
