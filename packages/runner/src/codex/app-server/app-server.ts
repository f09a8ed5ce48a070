import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { type ContextUsage, HarnessError } from '@chirality/core'
import { asObject } from '../../common/json.ts'
import { type AgentProcess, type ProcessExit, spawnAgent } from '../../process/agent-process.ts'
import { openSpool } from '../../process/spool/spool.ts'
import type { StopOptions, StopReport } from '../../process/stop/stop.ts'
import { stopByVariable } from '../../process/traced-process.ts'
import { HarnessLog } from '../../turn/harness-log.ts'
import type { KeptAgent } from '../../turn/kept-agents.ts'
import type { CodexHarnessConfig } from '../config.ts'
import { HARNESS_ID } from '../descriptor.ts'
import { CodexFeatures, unknownMethod } from './features.ts'
import { JsonRpcConnection, type RpcId, type RpcRequest } from './json-rpc.ts'
import { openSpoolCursor } from './spool-cursor.ts'
import type { ThreadMessage } from './thread-message.ts'
import { ThreadNews } from './thread-news.ts'

export interface AppServerOptions {
  command: string
  args: string[]
  env: Record<string, string>
  /** Where the raw output goes, and where the server starts. */
  projectRoot: string
  config: CodexHarnessConfig
  features?: CodexFeatures
}

/** A running `codex app-server`, which may serve several threads. */
export class AppServer implements KeptAgent {
  readonly process: AgentProcess
  /** As it says in the handshake. */
  version: string | null = null
  /** Threads that are loaded, with their model: they need no resume, and no other process may write to them. */
  readonly loaded = new Map<string, string>()
  /** How full the context of each thread is, by its last word about it. */
  readonly contexts = new Map<string, ContextUsage>()
  /** The instructions that a loaded thread was last given. */
  readonly instructions = new Map<string, string>()
  readonly news: ThreadNews
  readonly features: CodexFeatures
  /** Its own, which says where its files are. */
  readonly environment: Record<string, string>
  readonly #rpc: JsonRpcConnection
  readonly #config: CodexHarnessConfig
  readonly #log: HarnessLog
  readonly #closing = new Map<string, () => void>()
  /** Threads with a turn, and who waits for its end. */
  readonly #turns = new Map<string, () => void>()
  readonly #commands = new RunningCommands()
  /** Its last words, for when there are no others. */
  #noise: string[] = []
  /** Kinds of messages that no session heard. */
  readonly #unheard = new Set<string>()
  #isUsable = true
  #isStopped = false
  readonly ended: Promise<{ exit: ProcessExit }>

  private constructor(process: AgentProcess, { config, env, features }: AppServerOptions) {
    this.process = process
    this.environment = env
    this.features = features ?? new CodexFeatures()
    this.#config = config
    this.#log = new HarnessLog(config)
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

  /** Spawns it and shakes hands. Rejects when it does not answer in time or is given up, and leaves nothing running then. */
  static async start(options: AppServerOptions, signal?: AbortSignal): Promise<AppServer> {
    const { command, args, env, projectRoot, config } = options
    const turnId = randomUUID()
    const names = { harness: HARNESS_ID, sessionId: SPOOL_NAME, turnId }
    const spool = await openSpool({ projectRoot, ...names, rawLogs: config.rawLogs })
    const process = await spawnAgent({ command, args, env, cwd: projectRoot, spool, keepInputOpen: true })
    const server = new AppServer(process, options)
    server.#log.spawned({ command, args, cwd: projectRoot }, process)
    const patience = AbortSignal.timeout(config.handshakeMs ?? HANDSHAKE_MS)
    try {
      signal?.throwIfAborted()
      const given = signal ? AbortSignal.any([signal, patience]) : patience
      const hello = await server.#rpc.request('initialize', INITIALIZE, given)
      const { userAgent } = (hello ?? {}) as { userAgent?: unknown }
      server.version = /^[^/]*\/(\S+)/.exec(String(userAgent ?? ''))?.[1] ?? null
      server.#rpc.notify('initialized')
      // Unlike `exec` it does not read the variable by itself.
      if (env.CODEX_API_KEY)
        await server.request('account/login/start', { type: 'apiKey', apiKey: env.CODEX_API_KEY }, signal)
      return server
    } catch (cause) {
      if (server.version === null && patience.aborted) server.features.noteSilence()
      await server.stop({ interruptGraceMs: 0 })
      await server.ended
      const said = server.#noise.join('\n').trim()
      const message = `codex app-server did not answer.${said ? ` It said: ${said}` : ''}`
      throw new HarnessError(message, 'process_crashed', HARNESS_ID, cause)
    }
  }

  /** False as soon as it is being stopped, or has gone by itself. */
  get isUsable(): boolean {
    return this.#isUsable
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  /** No thread has a turn, and no command goes on in the background. */
  get isResting(): boolean {
    return this.#turns.size === 0 && this.#commands.areOver
  }

  /** Not waited for beyond the signal. What this Codex does not know is not asked for twice. */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<Record<string, unknown>> {
    if (!this.features.mayHave(method)) return Promise.reject(unknownMethod(method))
    const patience = AbortSignal.timeout(REQUEST_MS)
    const given = signal ? AbortSignal.any([signal, patience]) : patience
    return this.#rpc.request(method, params, given) as Promise<Record<string, unknown>>
  }

  /** For what need not, or must not, be waited for: an interrupt may stay unanswered until the next turn ends. */
  send(method: string, params: unknown): void {
    this.#rpc.request(method, params).catch((error: unknown) => this.refused(method, error))
  }

  /** Remembers a method that does not exist, and tells the log of every refusal. */
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

  /** A turn of the thread is over, and nobody is asked any more. */
  leave(threadId: string): void {
    for (const request of this.news.leave(threadId)) this.#refuse(request)
  }

  /** Lets go of a thread, so that another process may have it. Gives up after a while: the other one will be told. */
  async unload(threadId: string): Promise<void> {
    if (!this.loaded.has(threadId)) return
    const closed = new Promise<void>(resolve => this.#closing.set(threadId, resolve))
    const patience = setTimeout(() => this.#closing.get(threadId)?.(), UNLOAD_MS)
    this.loaded.delete(threadId)
    this.send('thread/unsubscribe', { threadId })
    await closed
    clearTimeout(patience)
  }

  /** Ends what runs for a thread, and lets go of it. Its commands know their thread by a variable that Codex gives them. */
  async evict(threadId: string): Promise<void> {
    if (this.#isUsable && this.loaded.has(threadId)) {
      // Of a thread that is let go of nobody hears the end of its turn.
      await this.#turnOver(threadId)
      await this.request('thread/backgroundTerminals/clean', { threadId }).catch(() => {})
      await this.unload(threadId)
    }
    const options = { ...this.#config.stop, interruptGraceMs: 0 }
    await stopByVariable(this.process.marker, { name: THREAD_VARIABLE, value: threadId }, options)
  }

  /** The turn has been interrupted. Gives up after a while, as `unload` does. */
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

  /** Closing stdin is the polite way: commands are ended with the server. */
  stop(options: StopOptions = {}): Promise<StopReport> {
    // One that has gone by itself was not stopped.
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
      // Ours: the raw output cannot be read any more. A server that nobody hears is of no use.
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

  /** It is in the raw log and in no session's; a new kind of message should not go unnoticed. */
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

  /** At once, so that the agent does not wait for ever. */
  #refuse({ id, method }: RpcRequest): void {
    this.respondError(id, `No turn is running that ${method} could be about.`)
  }
}

/** Commands that a server has begun and not told the end of. Some outlive their turn. */
class RunningCommands {
  /** The thread of each, by its item. */
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
    // What an interrupted turn had running is ended with it, and not every end is told.
    else if (method === 'turn/completed' && asObject(turn).status !== 'completed')
      this.#forget(String(threadId))
  }

  #forget(thread: string): void {
    for (const [id, owner] of this.#threads) if (owner === thread) this.#threads.delete(id)
  }
}

/** A summary takes the place of the conversation, and maybe of the instructions that were put into it. */
function isCompaction(method: string, params: unknown): boolean {
  if (method === 'thread/compacted') return true
  return method === 'item/completed' && asObject(asObject(params).item).type === 'contextCompaction'
}

/** By its spool a later Chirality knows that a turn went through an app-server. */
export function isAppServerSpool(spoolPath: string): boolean {
  return path.basename(spoolPath).includes(`-${SPOOL_NAME}-`)
}

/** In the environment of every command that Codex runs for a thread. */
const THREAD_VARIABLE = 'CODEX_THREAD_ID'
const SPOOL_NAME = 'app-server'

const INITIALIZE = {
  clientInfo: { name: 'chirality', title: 'Chirality', version: '0.1.0' },
  // The clean-up of commands that outlive an interrupt is still an experimental method.
  capabilities: { experimentalApi: true, requestAttestation: false },
}
const HANDSHAKE_MS = 15_000
const REQUEST_MS = 60_000
const UNLOAD_MS = 5_000
const REFUSED = -32_000
const MAX_LOG_CHARS = 500
const MAX_NOISE_LINES = 10
