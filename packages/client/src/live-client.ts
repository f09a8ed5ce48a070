import { type Envelope, SIGNED_OUT_CLOSE, SOCKET_PROTOCOL, TextsOnce, TOKEN_PROTOCOL } from '@chirality/core'
import type { AppRouter } from '@chirality/server'
import { createTRPCClient, createWSClient, TRPCClientError, type TRPCLink, wsLink } from '@trpc/client'
import { observable, tap } from '@trpc/server/observable'
import type { Client } from './create-client.ts'

export interface LiveClientOptions {
  /** `ws://127.0.0.1:4096/trpc`, or `wss:`. */
  url: string
  /** Asked for again before each connection: the token of a browser is replaced while a page is open. */
  token(): Promise<string>
  /** Called once, when the server no longer accepts the token. Nothing is sent after that. */
  onRefused?(): void
  /** For Node before 22, which has none: that of the package `ws`. */
  WebSocket?: typeof WebSocket
}

export type ConnectionState = 'connecting' | 'connected' | 'offline'

export interface SessionFollower {
  onEnvelopes(envelopes: Envelope[]): void
  onError(message: string): void
}

export interface LiveClient {
  readonly calls: Client
  /** Calls the listener with the state now and after each change. Returns the function that ends it. */
  watchConnection(listener: (state: ConnectionState) => void): () => void
  /** All events of a session after `afterSeq`, then new ones; goes on after the last one when a lost connection is back. */
  followSession(sessionId: string, afterSeq: number, follower: SessionFollower): () => void
  close(): Promise<void>
}

const FIRST_RETRY_MS = 200
const MAX_RETRY_MS = 5_000
const REFUSED = 'The server no longer accepts the token of this client. Sign in again.'

/** Calls and subscriptions over one WebSocket, which is opened again when it is lost. */
export function createLiveClient(options: LiveClientOptions): LiveClient {
  const connection = new ConnectionWatch()
  let isRefused = false
  // Once: a refused token is not tried again, and a user who has signed in anew is not sent away because of the old one.
  const refuse = () => {
    if (isRefused) return
    isRefused = true
    void socket.close()
    options.onRefused?.()
  }
  let shown = ''
  // The handshake shows the token already, so that the server has room for this client however many strangers connect.
  class SocketWithToken extends (options.WebSocket ?? WebSocket) {
    constructor(url: string | URL) {
      super(url, [SOCKET_PROTOCOL, `${TOKEN_PROTOCOL}${shown}`])
    }
  }
  const socket = createWSClient({
    url: async () => {
      shown = await options.token()
      return options.url
    },
    // Again: a proxy may remove the protocols.
    connectionParams: () => ({ token: shown }),
    WebSocket: SocketWithToken,
    retryDelayMs: attempt => (attempt === 0 ? 0 : Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** attempt)),
    onOpen: () => connection.set('connected'),
    onClose: cause => {
      connection.set('offline')
      if (cause?.code === SIGNED_OUT_CLOSE) refuse()
    },
  })
  const whileAccepted: TRPCLink<AppRouter> =
    () =>
    ({ op, next }) =>
      isRefused
        ? observable(observer => observer.error(TRPCClientError.from(new Error(REFUSED))))
        : next(op).pipe(
            tap({
              error: error => {
                if (error.data?.code === 'UNAUTHORIZED') refuse()
              },
            }),
          )
  const calls = createTRPCClient<AppRouter>({ links: [whileAccepted, wsLink({ client: socket })] })
  return {
    calls,
    watchConnection: connection.watch,
    followSession: (...following) => follow(calls, ...following),
    close: async () => socket.close(),
  }
}

function follow(
  calls: Client,
  sessionId: string,
  afterSeq: number,
  { onEnvelopes, onError }: SessionFollower,
): () => void {
  const input = { sessionId, lastEventId: afterSeq > 0 ? String(afterSeq) : null, textOnce: true }
  const texts = new TextsOnce()
  const subscription = calls.session.events.subscribe(input, {
    // tRPC makes fields of unknown type optional on the wire; the server always sends them.
    onData: ({ data }) => onEnvelopes((data as Envelope[]).map(envelope => texts.restored(envelope))),
    onError: error =>
      onError(error instanceof TRPCClientError ? error.message : 'The server ended the stream.'),
  })
  return () => subscription.unsubscribe()
}

class ConnectionWatch {
  #state: ConnectionState = 'connecting'
  readonly #listeners = new Set<(state: ConnectionState) => void>()

  set(state: ConnectionState): void {
    this.#state = state
    for (const listener of this.#listeners) listener(state)
  }

  readonly watch = (listener: (state: ConnectionState) => void): (() => void) => {
    this.#listeners.add(listener)
    listener(this.#state)
    return () => this.#listeners.delete(listener)
  }
}
