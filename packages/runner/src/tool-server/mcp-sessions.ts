import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport as Transport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { readJson, sendRefusal, sendWebResponse, toWebRequest } from './http-exchange.ts'

/** Fires when the client of the current request disconnects. */
export const clientGone = new AsyncLocalStorage<AbortSignal>()

interface McpSession {
  server: Server
  transport: Transport
  /** The number of unanswered requests; a listening client always has one. */
  open: number
}

/** One MCP server per initialized client, because request ids are unique only within a client. */
export class McpSessions {
  readonly #createServer: (transport: Transport) => Server
  /** The least recently used session is first. */
  readonly #sessions = new Map<string, McpSession>()
  readonly #new = new Set<McpSession>()
  #closed = false

  constructor(createServer: (transport: Transport) => Server) {
    this.#createServer = createServer
  }

  /** Answers a request that passed the guard. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
    const gone = new AbortController()
    response.once('close', () => {
      if (!response.writableFinished) gone.abort(new Error('The client went away.'))
    })
    try {
      await clientGone.run(gone.signal, () => this.#answer(request, response, url))
    } catch (error) {
      if (gone.signal.aborted) response.destroy()
      else sendRefusal(response, { status: 500, message: String(error) })
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
    const body = request.method === 'POST' ? await readJson(request) : undefined
    if (body && !body.ok) return sendRefusal(response, body)
    const session = await this.#find(request)
    if ('status' in session) return sendRefusal(response, session)
    session.open += 1
    try {
      const parsedBody = body?.value
      const answer = await session.transport.handleRequest(toWebRequest(request, url), { parsedBody })
      await sendWebResponse(answer, response)
    } finally {
      session.open -= 1
      // A refused session cannot be used again, because the client has no id for it.
      if (session.transport.sessionId === undefined) await session.server.close()
    }
  }

  async #find(request: IncomingMessage) {
    const id = request.headers['mcp-session-id']
    if (id === undefined) return this.#create()
    const session = typeof id === 'string' ? this.#sessions.get(id) : undefined
    if (!session || typeof id !== 'string') return NO_SESSION
    this.#sessions.delete(id)
    this.#sessions.set(id, session)
    return session
  }

  async #create() {
    if (this.#closed || !(await this.#makeRoom())) return NO_ROOM
    const transport = new Transport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: id => {
        this.#new.delete(session)
        this.#sessions.set(id, session)
      },
    })
    const server = this.#createServer(transport)
    const session: McpSession = { server, transport, open: 0 }
    this.#new.add(session)
    server.onclose = () => {
      this.#new.delete(session)
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId)
    }
    await server.connect(transport)
    return session
  }

  /** A client that reconnects without closing its session leaves the old one behind; it must not block new clients. */
  async #makeRoom(): Promise<boolean> {
    if (this.#sessions.size + this.#new.size < MAX_SESSIONS) return true
    const idle = [...this.#sessions.values()].find(session => session.open === 0)
    await idle?.server.close()
    return idle !== undefined
  }

  /** Ends all streams and aborts running handlers. */
  async close(): Promise<void> {
    this.#closed = true
    const sessions = [...this.#sessions.values(), ...this.#new]
    await Promise.all(sessions.map(({ server }) => server.close()))
  }
}

const MAX_SESSIONS = 32
const NO_SESSION = { status: 404, message: 'There is no such session.' } as const
const NO_ROOM = { status: 503, message: 'There are too many sessions.' } as const
