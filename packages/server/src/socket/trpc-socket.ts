import type { Duplex } from 'node:stream'
import type { Centre } from '@chirality/centre'
import { SIGNED_OUT_CLOSE } from '@chirality/core'
import { TRPCError } from '@trpc/server'
import { getWSConnectionHandler } from '@trpc/server/adapters/ws'
import type { WebSocket } from 'ws'
import { RateLimit } from '../guard/rate-limit.ts'
import { reportFault } from '../http/http-error.ts'
import { SendPace, type SendPaceOptions } from '../http/send-pace.ts'
import type { CallContext } from '../trpc/context.ts'
import { limitedEncoder } from '../trpc/encoder.ts'
import type { AppRouter } from '../trpc/router.ts'
import type { AcceptedSocket } from './socket-server.ts'

export interface TrpcSocketOptions {
  router: AppRouter
  centre: Centre
  pace?: SendPaceOptions
  onFault: (error: unknown) => void
}

/** Serves tRPC on one socket. Each socket has its own limits, pace and context. */
export function serveTrpc(accepted: AcceptedSocket, options: TrpcSocketOptions): void {
  const { socket, stream, request, authenticate } = accepted
  const pace = new SendPace(
    {
      buffered: () => socket.bufferedAmount,
      onDrain: listener => stream.on('drain', listener),
      giveUp: () => {
        socket.close(TRY_AGAIN_LATER, 'Nothing was read for too long. Resume from the last event.')
        // The close frame would wait behind unread data.
        setTimeout(() => socket.terminate(), CLOSE_GRACE_MS).unref()
      },
    },
    options.pace,
  )
  socket.once('close', () => pace.close())
  corkTogether(socket, stream)
  const rate = new RateLimit({ burst: CALL_BURST, perSecond: CALLS_PER_SECOND })
  const connect = getWSConnectionHandler<AppRouter>({
    wss: accepted.server,
    router: options.router,
    keepAlive: { enabled: true, pingMs: PING_MS, pongWaitMs: PONG_WAIT_MS },
    experimental_encoder: limitedEncoder({ maxBatch: MAX_BATCH, takeRate: calls => rate.take(calls) }),
    createContext: ({ info }): CallContext => {
      if (!authenticate(info.connectionParams?.token)) {
        // After the answer, and before tRPC closes the socket without a reason.
        setImmediate(() => socket.close(SIGNED_OUT_CLOSE, 'The token is not one of this server.'))
        throw new TRPCError({
          code: 'UNAUTHORIZED',
          message: 'Send the token of this server as connectionParams.',
        })
      }
      return { centre: options.centre, caller: { pace, takesJson: true, browser: accepted.browser() } }
    },
    onError: failed => reportFault(failed, options.onFault),
  })
  connect(socket, request)
}

/**
 * The first message is written at once, and further ones of the same event loop turn reach the kernel in one more
 * write: with two hundred sessions on a socket, writes are most of the cost. `nextTick` runs after the promises of this
 * turn, and so after everything that had a message to send.
 */
function corkTogether(socket: WebSocket, stream: Duplex): void {
  const send = socket.send.bind(socket) as WebSocket['send']
  let sent = 0
  const settle = () => {
    if (sent > 1) stream.uncork()
    sent = 0
  }
  socket.send = ((...args: Parameters<WebSocket['send']>) => {
    sent += 1
    if (sent === 1) process.nextTick(settle)
    if (sent === 2) stream.cork()
    send(...args)
  }) as WebSocket['send']
}

const TRY_AGAIN_LATER = 1013
const CLOSE_GRACE_MS = 5_000
const PING_MS = 25_000
const PONG_WAIT_MS = 10_000
export const MAX_BATCH = 20
const CALL_BURST = 500
const CALLS_PER_SECOND = 100
