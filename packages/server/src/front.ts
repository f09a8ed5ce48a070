import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Keys } from './guard/keys.ts'
import type { Place } from './guard/places.ts'
import type { Exposed } from './http/check-binding.ts'
import { type Doors, openDoors } from './http/doors.ts'
import { faultOf, HttpError, toHttpError } from './http/http-error.ts'
import { createHttpServer, type TlsFiles } from './http/http-server.ts'
import { OpenSockets } from './http/open-sockets.ts'
import type { Route } from './http/routes.ts'
import { StaticFiles } from './http/static-files.ts'
import { type AcceptedSocket, type SocketLimits, SocketServer } from './socket/socket-server.ts'

export interface FrontOptions {
  keys: Keys
  /** Default 127.0.0.1. Any address beyond loopback needs `exposed`. */
  host?: string
  /** The first port to try; 0 takes any. Default 4096. */
  port?: number
  exposed?: Exposed
  /** Other origins of the server, such as `https://agents.example`. */
  publicOrigins?: string[]
  /** The folder of the built dashboard. */
  dashboard?: string
  limits?: Partial<SocketLimits>
}

/** The answers of a server, once there is something to answer with. */
interface Service {
  routes: readonly Route[]
  onSocket: (accepted: AcceptedSocket) => void
  onFault: (error: unknown) => void
}

/**
 * The listening side of a server. Its address is known before there is anything to serve: it refuses every request until
 * `serve`, and again from `refuse` on.
 */
export class Front {
  readonly #connections = new OpenSockets()
  readonly #routes: Route[] = []
  readonly #sockets: SocketServer
  #place = NOWHERE
  #service: Service | undefined
  #doors: Doors | undefined
  #closed: Promise<unknown> = Promise.resolve()

  private constructor({ keys, limits }: FrontOptions) {
    this.#sockets = new SocketServer({
      keys,
      limits,
      place: () => this.#place,
      path: '/trpc',
      onTrusted: stream => this.#connections.trust(stream as Socket),
      onSocket: accepted => this.#service?.onSocket(accepted),
    })
  }

  static async listen(options: FrontOptions): Promise<Front> {
    const { exposed, publicOrigins, host = '127.0.0.1', port = DEFAULT_PORT } = options
    const front = new Front(options)
    const files = new StaticFiles(options.dashboard)
    front.#doors = await openDoors({
      host,
      port,
      publicOrigins,
      create: tls => front.#create(options, files, tls),
      tls: exposed && 'tls' in exposed ? exposed.tls : undefined,
    })
    return front
  }

  #create({ keys, limits }: FrontOptions, files: StaticFiles, tls: TlsFiles | undefined): Server {
    const server = createHttpServer({
      keys,
      files,
      tls,
      routes: this.#routes,
      place: () => this.#place,
      onTrusted: socket => this.#connections.trust(socket),
      headersMs: limits?.headersMs,
      unreadMs: limits?.unreadMs,
      toHttpError: error => {
        const answer = toHttpError(error)
        // An intended refusal, such as too many streams, is no internal error.
        if (answer.status >= 500 && !(error instanceof HttpError)) this.#service?.onFault(faultOf(error))
        return answer
      },
    })
    this.#connections.watch(server)
    return server.on('upgrade', this.#sockets.upgrade)
  }

  get doors(): Doors {
    if (this.#doors === undefined) throw new Error('The front does not listen yet.')
    return this.#doors
  }

  /** WebSockets that are open. */
  get sockets(): number {
    return this.#sockets.size
  }

  /** All open connections, WebSockets included. */
  get connections(): number {
    return this.#connections.size
  }

  serve(service: Service): void {
    this.#service = service
    this.#routes.push(...service.routes)
    this.#place = this.doors.place
  }

  /** From here on every request is refused, also on open connections. */
  refuse(): void {
    this.#place = NOWHERE
  }

  /** Listens no more, and tells every socket that it may connect again. */
  leave(): void {
    const { servers } = this.doors
    this.#closed = Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
    this.#sockets.close()
  }

  /** Ends what is still connected. */
  async close(): Promise<void> {
    this.#sockets.terminate()
    this.#connections.destroy()
    await this.#closed
  }
}

const DEFAULT_PORT = 4096
const NOWHERE: Place = { hosts: new Set(), origins: new Map() }
