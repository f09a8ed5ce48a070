import {
  createTRPCClient,
  createWSClient,
  type TRPCClient,
  type TRPCWebSocketClient,
  wsLink,
} from '@trpc/client'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { AppRouter, RunningServer } from '../../src/index.ts'

export interface Connected {
  client: TRPCClient<AppRouter>
  socket: TRPCWebSocketClient
}

/** A client as the dashboard has it: an Origin in the handshake, the token in the first message. */
export function connect(server: Pick<RunningServer, 'url' | 'token'>, token = server.token): Connected {
  class BrowserLike extends WebSocket {
    constructor(url: string | URL) {
      super(url, { origin: server.url })
    }
  }
  const socket = createWSClient({
    url: `${server.url.replace('http', 'ws')}/trpc`,
    connectionParams: { token },
    WebSocket: BrowserLike as unknown as typeof globalThis.WebSocket,
    retryDelayMs: () => 10,
  })
  onTestFinished(() => socket.close())
  return { socket, client: createTRPCClient<AppRouter>({ links: [wsLink({ client: socket })] }) }
}
