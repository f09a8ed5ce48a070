import { randomUUID } from 'node:crypto'
import { HarnessError } from '@chirality/core'
import { AsyncQueue } from '../async-queue.ts'
import { type AgentProcess, spawnAgent } from '../process/agent-process.ts'
import { openSpool } from '../process/spool.ts'
import type { StopOptions, StopReport } from '../process/stop.ts'
import { type CodexHarnessConfig, HARNESS_ID } from './config.ts'
import { JsonRpcConnection, type RpcId } from './json-rpc.ts'

export interface AppServerOptions {
  command: string
  args: string[]
  env: Record<string, string>
  /** Where the raw output goes, and where the server starts. */
  projectRoot: string
  config: CodexHarnessConfig
}

/** A message about one thread, as it was printed. */
export interface ThreadMessage {
  raw: unknown
  /** Set when it is a request that has to be answered. */
  request?: { id: RpcId; method: string; params: Record<string, unknown> }
}

/** A running `codex app-server`, which may serve several threads. */
export class AppServer {
  readonly process: AgentProcess
  /** As it says in the handshake. */
  version: string | null = null
  /** Threads that are loaded: they need no resume, and no other process may write to them. */
  readonly loaded = new Set<string>()
  readonly #rpc: JsonRpcConnection
  readonly #threads = new Map<string, AsyncQueue<ThreadMessage>>()
  /** Threads of sub-agents, by the thread that started them: their news belongs to its session. */
  readonly #parents = new Map<string, string>()
  readonly #unheard: ThreadMessage[] = []
  readonly #config: CodexHarnessConfig
  #isAlive = true

  private constructor(process: AgentProcess, config: CodexHarnessConfig) {
    this.process = process
    this.#config = config
    this.#rpc = new JsonRpcConnection(process, {
      onNotification: (_method, params, raw) => this.#route(params, { raw }),
      onRequest: (id, method, params, raw) => this.#routeRequest(id, method, params, raw),
      onNoise: text => this.#log('warn', 'app-server:noise', { text: text.slice(0, MAX_LOG_CHARS) }),
    })
  }

  /** Spawns it and shakes hands. Rejects when it does not answer in time, and leaves nothing running then. */
  static async start(options: AppServerOptions): Promise<AppServer> {
    const { command, args, env, projectRoot, config } = options
    const spool = await openSpool({
      projectRoot,
      harness: HARNESS_ID,
      sessionId: 'app-server',
      turnId: randomUUID(),
    })
    const process = await spawnAgent({ command, args, env, cwd: projectRoot, spool, keepInputOpen: true })
    const server = new AppServer(process, config)
    server.#log('info', 'process:spawn', { command, args, pid: process.pid, spool: process.spoolPath })
    void server.#run()
    try {
      const hello = await server.#rpc.request('initialize', INITIALIZE, AbortSignal.timeout(HANDSHAKE_MS))
      server.version = /^[^/]*\/(\S+)/.exec(String(asObject(hello).userAgent ?? ''))?.[1] ?? null
      server.#rpc.notify('initialized')
      return server
    } catch (cause) {
      await server.stop({ interruptGraceMs: 0 })
      throw new HarnessError(
        `codex app-server did not answer: ${String(cause)}`,
        'process_crashed',
        HARNESS_ID,
        cause,
      )
    }
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  request(method: string, params: unknown): Promise<Record<string, unknown>> {
    return this.#rpc.request(method, params, AbortSignal.timeout(REQUEST_MS)) as Promise<
      Record<string, unknown>
    >
  }

  /** For what need not, or must not, be waited for: an interrupt may stay unanswered until the next turn ends. */
  send(method: string, params: unknown): void {
    this.#rpc.request(method, params).catch((error: unknown) => {
      this.#log('warn', 'app-server:refused', { method, error: String(error) })
    })
  }

  respond(id: RpcId, result: unknown): void {
    this.#rpc.respond(id, result)
  }

  respondError(id: RpcId, message: string): void {
    this.#rpc.respondError(id, REFUSED, message)
  }

  /** Everything said about a thread, also what came before anyone listened. Ends with the process. */
  thread(threadId: string): AsyncQueue<ThreadMessage> {
    const known = this.#threads.get(threadId)
    if (known) return known
    const queue = new AsyncQueue<ThreadMessage>()
    for (const message of this.#unheard.splice(0)) queue.push(message)
    if (!this.#isAlive) queue.end()
    this.#threads.set(threadId, queue)
    return queue
  }

  /** Nobody listens any more: what comes later starts a queue of its own. */
  leave(threadId: string): void {
    this.#threads.get(threadId)?.end()
    this.#threads.delete(threadId)
  }

  /** Closing stdin is the polite way: commands are ended with the server. */
  stop(options: StopOptions = {}): Promise<StopReport> {
    this.process.endInput()
    return this.process.stop({ ...this.#config.stop, ...options })
  }

  async #run(): Promise<void> {
    await this.#rpc.pump()
    this.#isAlive = false
    const exit = await this.process.exited
    this.#log('info', 'process:exit', { code: exit.code, signal: exit.signal })
    for (const queue of this.#threads.values()) queue.end()
  }

  #routeRequest(id: RpcId, method: string, params: unknown, raw: unknown): void {
    const request = { id, method, params: asObject(params) }
    if (!this.#route(params, { raw, request })) {
      // About no thread we know: refused at once, so that the agent does not wait for ever.
      this.respondError(id, `${method} is not about a thread of this client.`)
    }
  }

  #route(params: unknown, message: ThreadMessage): boolean {
    const { threadId, thread } = asObject(params)
    const { id: startedId, parentThreadId } = asObject(thread)
    const id = threadId ?? startedId
    if (typeof id !== 'string') return this.#tellAll(message)
    if (typeof parentThreadId === 'string') this.#parents.set(id, this.#rootOf(parentThreadId))
    this.thread(this.#rootOf(id)).push(message)
    return true
  }

  /** About no thread: for whoever listens, or will listen first. Only news can be told so; a request needs one owner. */
  #tellAll(message: ThreadMessage): boolean {
    if (message.request) return false
    for (const queue of this.#threads.values()) queue.push(message)
    if (this.#threads.size === 0 && this.#unheard.length < MAX_UNHEARD) this.#unheard.push(message)
    return true
  }

  #rootOf(threadId: string): string {
    return this.#parents.get(threadId) ?? threadId
  }

  #log(level: 'info' | 'warn', event: string, data: Record<string, unknown>): void {
    this.#config.onLog?.({ level, event, data })
  }
}

const INITIALIZE = {
  clientInfo: { name: 'chirality', title: 'Chirality', version: '0.1.0' },
  // The clean-up of commands that outlive an interrupt is still an experimental method.
  capabilities: { experimentalApi: true, requestAttestation: false },
}
const HANDSHAKE_MS = 15_000
const REQUEST_MS = 60_000
const REFUSED = -32_000
const MAX_LOG_CHARS = 500
const MAX_UNHEARD = 100

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
