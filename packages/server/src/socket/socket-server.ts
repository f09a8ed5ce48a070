import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { SIGNED_OUT_CLOSE, SOCKET_PROTOCOL, TOKEN_PROTOCOL } from '@chirality/core'
import { type WebSocket, WebSocketServer } from 'ws'
import { factsOf } from '../guard/facts.ts'
import { guard } from '../guard/guard.ts'
import { bearerOf, type Keys } from '../guard/keys.ts'
import type { Place } from '../guard/places.ts'
import { RateLimit } from '../guard/rate-limit.ts'
import { HEADERS_MS, requestUrl } from '../http/http-server.ts'
import { endSocket } from '../http/respond.ts'

export interface SocketServerOptions {
  place: () => Place
  keys: Keys
  path: string
  limits?: Partial<SocketLimits>
  onSocket: (socket: AcceptedSocket) => void
  /** Told of the connection of a socket that has shown a token. */
  onTrusted?: (stream: Duplex) => void
}

export interface SocketLimits {
  maxSockets: number
  /** Of those, how many may be there without a token. */
  maxUnauthenticated: number
  maxPayloadBytes: number
  /** How long a socket has to show its token, and any connection to say what it wants. */
  authenticateMs: number
  handshakesPerSecond: number
  /** How long an answer over HTTP waits for a reader that does not read. */
  unreadMs: number
}

export interface AcceptedSocket {
  socket: WebSocket
  /** What `socket` is written to, for its `drain`. */
  stream: Duplex
  request: IncomingMessage
  server: WebSocketServer
  /** To be called with what the first message brings. False closes the socket. */
  authenticate(token: string | undefined): boolean
}

/**
 * WebSockets from our own `upgrade` handler. tRPC's `prefix` is never used: sockets on other paths would have nobody who listens
 * for their errors, and four bad bytes would end the process.
 */
export class SocketServer {
  readonly #options: SocketServerOptions
  readonly #limits: SocketLimits
  readonly #server: WebSocketServer
  readonly #handshakes: RateLimit
  /** The oldest first. */
  readonly #unauthenticated = new Set<WebSocket>()

  constructor(options: SocketServerOptions) {
    this.#options = options
    this.#limits = { ...LIMITS, ...options.limits }
    const { maxPayloadBytes: maxPayload, handshakesPerSecond: perSecond, maxSockets } = this.#limits
    this.#server = new WebSocketServer({
      ...{ noServer: true, maxPayload, perMessageDeflate: false },
      autoPong: false,
      // Never the token, which a page sends as another one.
      handleProtocols: offered => offered.has(SOCKET_PROTOCOL) && SOCKET_PROTOCOL,
    })
    this.#handshakes = new RateLimit({ burst: maxSockets, perSecond })
  }

  get size(): number {
    return this.#server.clients.size
  }

  readonly upgrade = (request: IncomingMessage, stream: Duplex, head: Buffer): void => {
    // At once: a client that goes away during the handshake must not be an uncaught error.
    stream.on('error', () => stream.destroy())
    const facts = factsOf(request, 'socket', this.#options.keys)
    const verdict = guard(facts, this.#options.place())
    if (!verdict.allow) return endSocket(stream, verdict.status)
    if (requestUrl(request)?.pathname !== this.#options.path) return endSocket(stream, 404)
    const token = this.#tokenOf(request)
    if (!this.#hasRoom(token !== undefined)) return endSocket(stream, 503)
    this.#server.handleUpgrade(request, stream, head, socket =>
      this.#accept(socket, { stream, request, token }),
    )
  }

  /** Tells every client that it may come back, and lets go of those who do not answer. */
  close(): void {
    for (const socket of this.#server.clients) socket.close(GOING_AWAY, 'The server stops.')
    this.#server.close()
  }

  terminate(): void {
    for (const socket of this.#server.clients) socket.terminate()
  }

  /**
   * The valid token of a handshake: in the header of a program, or beside the protocol of a page, which can set no header. A wrong
   * one there counts as none: a page cannot read why a handshake failed, but it can read why an open socket is closed.
   */
  #tokenOf({ headers }: IncomingMessage): string | undefined {
    const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map(name => name.trim())
    const [brought] = offered.filter(name => name.startsWith(TOKEN_PROTOCOL))
    const token = bearerOf(headers.authorization) ?? brought?.slice(TOKEN_PROTOCOL.length)
    return token !== undefined && this.#options.keys.isToken(token) ? token : undefined
  }

  #hasRoom(trusted: boolean): boolean {
    const { maxSockets, maxUnauthenticated } = this.#limits
    if (!trusted && !this.#handshakes.take()) return false
    const isFull = this.size >= maxSockets || (!trusted && this.#unauthenticated.size >= maxUnauthenticated)
    if (!isFull) return true
    // The one that has said nothing for longest makes room, so that silent ones keep nobody out.
    const [oldest] = this.#unauthenticated
    if (oldest === undefined) return false
    this.#unauthenticated.delete(oldest)
    oldest.terminate()
    return true
  }

  #accept(
    socket: WebSocket,
    {
      stream,
      request,
      token: shown,
    }: { stream: Duplex; request: IncomingMessage; token: string | undefined },
  ): void {
    socket.on('error', () => socket.terminate())
    // Whoever sends pings and reads nothing would have us keep an answer to each.
    socket.on('ping', data => {
      if (socket.bufferedAmount < MAX_UNREAD_BYTES) socket.pong(data)
    })
    let authenticated = shown !== undefined
    const settle = () => {
      clearTimeout(deadline)
      this.#unauthenticated.delete(socket)
      socket.off('close', settle)
    }
    const deadline = setTimeout(() => socket.terminate(), this.#limits.authenticateMs)
    this.#unauthenticated.add(socket)
    socket.once('close', settle)
    const welcome = (token: string | undefined) => {
      settle()
      this.#options.onTrusted?.(stream)
      const leave = () => socket.close(SIGNED_OUT_CLOSE, 'This browser was signed out.')
      socket.once('close', this.#options.keys.whenRevoked(token, leave))
    }
    if (authenticated) welcome(shown)
    this.#options.onSocket({
      socket,
      stream,
      request,
      server: this.#server,
      authenticate: token => {
        if (authenticated) return true
        authenticated = token !== undefined && this.#options.keys.isToken(token)
        if (authenticated) welcome(token)
        return authenticated
      },
    })
  }
}

const GOING_AWAY = 1001
/** More than events ever take. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024

const LIMITS: SocketLimits = {
  maxSockets: 1024,
  maxUnauthenticated: 64,
  maxPayloadBytes: 1024 * 1024,
  authenticateMs: HEADERS_MS,
  handshakesPerSecond: 200,
  unreadMs: 30_000,
}
