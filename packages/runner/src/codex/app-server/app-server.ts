import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { type ContextUsage, HarnessError } from '@chirality/core'
import { anySignal } from '../../common/any-signal.ts'
import { asObject } from '../../common/json.ts'
import { type AgentProcess, type ProcessExit, spawnAgent } from '../../process/agent-process.ts'
import { JsonRpcConnection, type RpcId, type RpcRequest } from '../../process/json-rpc.ts'
import { openSpool } from '../../process/spool/spool.ts'
import type { StopOptions, StopReport } from '../../process/stop/stop.ts'
import { stopByVariable } from '../../process/traced-process.ts'
import { TurnLog } from '../../turn/harness-log.ts'
import type { KeptAgent } from '../../turn/kept-agents.ts'
import type { CodexHarnessConfig } from '../config.ts'
import { CODEX_ID } from '../descriptor.ts'
import { CodexFeatures, unknownMethod } from './features.ts'
import { openSpoolCursor } from './spool-cursor.ts'
import type { ThreadMessage } from './thread-message.ts'
import { ThreadNews } from './thread-news.ts'

export interface AppServerOptions {
  command: string
  args: string[]
  env: Record<string, string>
  /** The project whose logs get the raw output, and the server's working folder. */
  projectRoot: string
  config: CodexHarnessConfig
  features?: CodexFeatures
}

/** A running `codex app-server`, which may serve several threads. */
export class AppServer implements KeptAgent {
  readonly process: AgentProcess
  /** The version that it reports in the handshake. */
  version: string | null = null
  /** Loaded threads, with their model: they need no resume, and no other process may write to them. */
  readonly loaded = new Map<string, string>()
  /** The context usage of each thread, as it was reported last. */
  readonly contexts = new Map<string, ContextUsage>()
  /** The instructions that a loaded thread was given last. */
  readonly instructions = new Map<string, string>()
  readonly news: ThreadNews
  readonly features: CodexFeatures
  /** The server's own environment, which says where its files are. */
  readonly environment: Record<string, string>
  readonly #rpc: JsonRpcConnection
  readonly #config: CodexHarnessConfig
  readonly #log: TurnLog
  readonly #closing = new Map<string, () => void>()
  /** Threads with a running turn, and the callback that waits for its end. */
  readonly #turns = new Map<string, () => void>()
  readonly #commands = new RunningCommands()
  /** The last lines of stderr, for an exit without another explanation. */
  #noise: string[] = []
  /** Kinds of messages that no session received. */
  readonly #unheard = new Set<string>()
  #isUsable = true
  #isStopped = false
  readonly ended: Promise<{ exit: ProcessExit }>

  private constructor(process: AgentProcess, { config, env, features }: AppServerOptions) {
    this.process = process
    this.environment = env
    this.features = features ?? new CodexFeatures()
    this.#config = config
    this.#log = new TurnLog(config)
    this.news = new ThreadNews(offset => openSpoolCursor(process.spoolPath, offset))
    this.#rpc = new JsonRpcConnection(process, {
      onNotification: (method, params, source) => {
        if (method === 'thread/closed') this.#forget(params)
        if (method === 'turn/started') this.#turns.set(String(asObject(params).threadId), () => {})
        if (method === 'turn/completed') this.#endTurn(String(asObject(params).threadId))
        this.#commands.see(method, params)
        if (method === 'thread/tokenUsage/updated') this.#noteContext(params)
        if (isCompaction(method, params)) this.instructions.delete(String(asObject(params).threadId))
        if (!this.news.tell(source)) this.#noteUnheard(method)
      },
      onRequest: (request, source) => this.#ask({ ...source, request }),
      onNoise: text => this.#keepNoise(text.slice(0, MAX_LOG_CHARS)),
    })
    this.ended = this.#run()
  }

  /**
   * Spawns the server and performs the handshake. Rejects if it does not answer in time or the start is cancelled, and
   * leaves no process running then.
   */
  static async start(options: AppServerOptions, signal?: AbortSignal): Promise<AppServer> {
    const { command, args, env, projectRoot, config } = options
    const turnId = randomUUID()
    const names = { harness: CODEX_ID, sessionId: SPOOL_NAME, turnId }
    const spool = await openSpool({ projectRoot, ...names, rawLogs: config.rawLogs })
    const process = await spawnAgent({ command, args, env, cwd: projectRoot, spool, keepInputOpen: true })
    const server = new AppServer(process, options)
    server.#log.spawned({ command, args, cwd: projectRoot }, process)
    const patience = AbortSignal.timeout(config.handshakeMs ?? HANDSHAKE_MS)
    try {
      signal?.throwIfAborted()
      const given = signal ? anySignal([signal, patience]) : patience
      const hello = await server.#rpc.request('initialize', INITIALIZE, given)
      const { userAgent } = (hello ?? {}) as { userAgent?: unknown }
      server.version = /^[^/]*\/(\S+)/.exec(String(userAgent ?? ''))?.[1] ?? null
      server.#rpc.notify('initialized')
      // Unlike `exec`, the app-server does not read the variable by itself.
      if (env.CODEX_API_KEY)
        await server.request('account/login/start', { type: 'apiKey', apiKey: env.CODEX_API_KEY }, signal)
      return server
    } catch (cause) {
      if (server.version === null && patience.aborted) server.features.noteSilence()
      await server.stop({ interruptGraceMs: 0 })
      await server.ended
      const said = server.#noise.join('\n').trim()
      const message = `codex app-server did not answer.${said ? ` It said: ${said}` : ''}`
      throw new HarnessError(message, 'process_crashed', CODEX_ID, cause)
    }
  }

  /** False as soon as it is being stopped, or has exited by itself. */
  get isUsable(): boolean {
    return this.#isUsable
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  /** No thread has a running turn, and no command runs in the background. */
  get isResting(): boolean {
    return this.#turns.size === 0 && this.#commands.areOver
  }

  /** Waits no longer than the signal allows. A method that this Codex does not know is not called twice. */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<Record<string, unknown>> {
    if (!this.features.mayHave(method)) return Promise.reject(unknownMethod(method))
    const patience = AbortSignal.timeout(REQUEST_MS)
    const given = signal ? anySignal([signal, patience]) : patience
    return this.#rpc.request(method, params, given) as Promise<Record<string, unknown>>
  }

  /**
   * For requests that need no answer, or must not be waited for: an interrupt may stay unanswered until the next turn
   * ends.
   */
  send(method: string, params: unknown): void {
    this.#rpc.request(method, params).catch((error: unknown) => this.refused(method, error))
  }

  /** Stores which methods do not exist, and logs every refusal. */
  refused(method: string, error: unknown): void {
    const isUnknown = this.features.refuses(method, error)
    this.#log.write('warn', 'app-server:refused', { method, isUnknown, error: String(error) })
  }

  respond(id: RpcId, result: unknown): void {
    this.#rpc.respond(id, result)
  }

  respondError(id: RpcId, message: string): void {
    this.#rpc.respondError(id, REFUSED, message)
  }

  /** The thread's turn is over; open requests are refused. */
  leave(threadId: string): void {
    for (const request of this.news.leave(threadId)) this.#refuse(request)
  }

  /**
   * Unloads a thread, so that another process can load it. Gives up after a while: the other process reports the
   * conflict.
   */
  async unload(threadId: string): Promise<void> {
    if (!this.loaded.has(threadId)) return
    const closed = new Promise<void>(resolve => this.#closing.set(threadId, resolve))
    const patience = setTimeout(() => this.#closing.get(threadId)?.(), UNLOAD_MS)
    this.loaded.delete(threadId)
    this.send('thread/unsubscribe', { threadId })
    await closed
    clearTimeout(patience)
  }

  /**
   * Ends the work of a thread and unloads it. Its commands are found by a variable that Codex sets in their
   * environment.
   */
  async evict(threadId: string): Promise<void> {
    if (this.#isUsable && this.loaded.has(threadId)) {
      // An unloaded thread does not report the end of its turn, so the end has to come first.
      await this.#turnOver(threadId)
      await this.request('thread/backgroundTerminals/clean', { threadId }).catch(() => {})
      await this.unload(threadId)
    }
    const options = { ...this.#config.stop, interruptGraceMs: 0 }
    await stopByVariable(this.process.marker, { name: THREAD_VARIABLE, value: threadId }, options)
  }

  /** Waits for the end of an interrupted turn. Gives up after a while, as `unload` does. */
  async #turnOver(threadId: string): Promise<void> {
    if (!this.#turns.has(threadId)) return
    const over = new Promise<void>(resolve => this.#turns.set(threadId, resolve))
    const patience = setTimeout(() => this.#endTurn(threadId), UNLOAD_MS)
    await over
    clearTimeout(patience)
  }

  #endTurn(threadId: string): void {
    this.#turns.get(threadId)?.()
    this.#turns.delete(threadId)
  }

  /** Lets the server exit by closing its stdin: it ends its commands too. */
  stop(options: StopOptions = {}): Promise<StopReport> {
    // A server that has exited by itself was not stopped.
    this.#isStopped ||= this.#isUsable
    this.#isUsable = false
    this.process.endInput()
    return this.process.stop({ ...this.#config.stop, ...options })
  }

  async dismiss(): Promise<void> {
    await this.stop({ interruptGraceMs: 0 })
  }

  async #run(): Promise<{ exit: ProcessExit }> {
    try {
      await this.#rpc.pump()
    } catch (error) {
      // An internal error: the raw output cannot be read any more, so the server is ended.
      this.#log.write('error', 'app-server:unreadable', { error: String(error) })
      await this.stop({ interruptGraceMs: 0 })
      await this.process.close()
    }
    this.#isUsable = false
    const exit = await this.process.exited
    this.#log.exited(exit, this.process.fault)
    this.news.end()
    return { exit }
  }

  /** The message is in the raw log but in no session; a new kind of message should be noticed, so it is logged. */
  #noteUnheard(method: string): void {
    if (this.#unheard.has(method)) return
    this.#unheard.add(method)
    this.#log.write('warn', 'app-server:unheard', { method })
  }

  #noteContext(params: unknown): void {
    const { threadId, tokenUsage } = (params ?? {}) as { threadId?: unknown; tokenUsage?: unknown }
    const { last, modelContextWindow: maxTokens } = (tokenUsage ?? {}) as Record<string, unknown>
    const { totalTokens: usedTokens } = (last ?? {}) as { totalTokens?: unknown }
    if (typeof usedTokens === 'number' && typeof maxTokens === 'number')
      this.contexts.set(String(threadId), { usedTokens, maxTokens })
  }

  #forget(params: unknown): void {
    const { threadId } = (params ?? {}) as { threadId?: unknown }
    this.loaded.delete(String(threadId))
    this.instructions.delete(String(threadId))
    this.contexts.delete(String(threadId))
    this.news.forget(String(threadId))
    this.#closing.get(String(threadId))?.()
  }

  #keepNoise(text: string): void {
    this.#log.write('warn', 'app-server:noise', { text })
    this.#noise = [...this.#noise.slice(1 - MAX_NOISE_LINES), text]
  }

  #ask(message: ThreadMessage & { request: RpcRequest }): void {
    if (!this.news.tell(message)) this.#refuse(message.request)
  }

  /** Answered at once, because the agent would otherwise wait forever. */
  #refuse({ id, method }: RpcRequest): void {
    this.respondError(id, `No turn is running that ${method} could be about.`)
  }
}

/** Commands that a server has begun and not reported the end of. Some run longer than their turn. */
class RunningCommands {
  /** The thread of each command, by item id. */
  readonly #threads = new Map<string, string>()

  get areOver(): boolean {
    return this.#threads.size === 0
  }

  see(method: string, params: unknown): void {
    const { threadId, item, turn } = asObject(params)
    const { id, type } = asObject(item)
    if (method === 'item/started' && type === 'commandExecution')
      this.#threads.set(String(id), String(threadId))
    else if (method === 'item/completed') this.#threads.delete(String(id))
    else if (method === 'thread/closed') this.#forget(String(threadId))
    // The commands of an interrupted turn end with it, and not every end is reported.
    else if (method === 'turn/completed' && asObject(turn).status !== 'completed')
      this.#forget(String(threadId))
  }

  #forget(thread: string): void {
    for (const [id, owner] of this.#threads) if (owner === thread) this.#threads.delete(id)
  }
}

/** Compaction replaces the conversation, and possibly the instructions in it. */
function isCompaction(method: string, params: unknown): boolean {
  if (method === 'thread/compacted') return true
  return method === 'item/completed' && asObject(asObject(params).item).type === 'contextCompaction'
}

/** A restarted server recognises by the name of the spool that a turn ran in an app-server. */
export function isAppServerSpool(spoolPath: string): boolean {
  return path.basename(spoolPath).includes(`-${SPOOL_NAME}-`)
}

/** Set in the environment of every command that Codex runs for a thread. */
const THREAD_VARIABLE = 'CODEX_THREAD_ID'
const SPOOL_NAME = 'app-server'

const INITIALIZE = {
  clientInfo: { name: 'chirality', title: 'Chirality', version: '0.1.0' },
  // The method that ends commands after an interrupt is still experimental.
  capabilities: { experimentalApi: true, requestAttestation: false },
}
const HANDSHAKE_MS = 15_000
const REQUEST_MS = 60_000
const UNLOAD_MS = 5_000
const REFUSED = -32_000
const MAX_LOG_CHARS = 500
const MAX_NOISE_LINES = 10
