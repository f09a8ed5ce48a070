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
  /** Called for the connection of a socket with a valid token. */
  onTrusted?: (stream: Duplex) => void
}

export interface SocketLimits {
  maxSockets: number
  /** How many of them may be without a token. */
  maxUnauthenticated: number
  maxPayloadBytes: number
  /** How long a socket has to send its token. */
  authenticateMs: number
  /** How long any connection has to send the headers of its request. */
  headersMs: number
  handshakesPerSecond: number
  /** How long an answer over HTTP waits for a client that does not read. */
  unreadMs: number
}

export interface AcceptedSocket {
  socket: WebSocket
  /** The stream below `socket`, for its `drain` event. */
  stream: Duplex
  request: IncomingMessage
  server: WebSocketServer
  /** Has to be called with the token of the first message. False closes the socket. */
  authenticate(token: string | undefined): boolean
  /** The browser that authenticated; undefined for a program. */
  browser(): string | undefined
}

/**
 * WebSockets from an `upgrade` handler of our own. tRPC's `prefix` is not used: sockets on other paths would have no
 * error listener, and four invalid bytes would end the process.
 */
export class SocketServer {
  readonly #options: SocketServerOptions
  readonly #limits: SocketLimits
  readonly #server: WebSocketServer
  readonly #handshakes: RateLimit
  /** Oldest first. */
  readonly #unauthenticated = new Set<WebSocket>()

  constructor(options: SocketServerOptions) {
    this.#options = options
    this.#limits = { ...LIMITS, ...options.limits }
    const { maxPayloadBytes: maxPayload, handshakesPerSecond: perSecond, maxSockets } = this.#limits
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload,
      perMessageDeflate: false,
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
    // Registered at once: a client that leaves during the handshake must not cause an uncaught error.
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

  /** Tells every client that it may reconnect, and closes those that do not answer. */
  close(): void {
    for (const socket of this.#server.clients) socket.close(GOING_AWAY, 'The server stops.')
    this.#server.close()
  }

  terminate(): void {
    for (const socket of this.#server.clients) socket.terminate()
  }

  /**
   * The valid token of a handshake: in a program's header, or in a page's second subprotocol, because a page cannot set
   * headers. An invalid one there counts as none: a page cannot read why a handshake failed, but it can read the close
   * code of an open socket.
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
    // The longest silent socket is closed to make room, so that silent ones cannot keep others out.
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
    // A client that sends pings and reads nothing would make the server buffer an answer to each.
    socket.on('ping', data => {
      if (socket.bufferedAmount < MAX_UNREAD_BYTES) socket.pong(data)
    })
    let authenticated = shown !== undefined
    let browser = this.#options.keys.browserOf(shown)
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
        if (authenticated) {
          browser = this.#options.keys.browserOf(token)
          welcome(token)
        }
        return authenticated
      },
      browser: () => browser,
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
  headersMs: HEADERS_MS,
  handshakesPerSecond: 200,
  unreadMs: 30_000,
}
