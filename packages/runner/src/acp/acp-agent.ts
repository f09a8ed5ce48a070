import { randomUUID } from 'node:crypto'
import { type ContextUsage, HarnessError, type SlashCommand } from '@chirality/core'
import { anySignal } from '../common/any-signal.ts'
import { asObject } from '../common/json.ts'
import { Wake } from '../common/wake.ts'
import { type AgentProcess, type ProcessExit, spawnAgent } from '../process/agent-process.ts'
import { JsonRpcConnection, type RpcId, type RpcRequest, type RpcSource } from '../process/json-rpc.ts'
import { openSpool, type Spool } from '../process/spool/spool.ts'
import type { StopOptions, StopReport } from '../process/stop/stop.ts'
import { TurnLog } from '../turn/harness-log.ts'
import type { KeptAgent } from '../turn/kept-agents.ts'
import type { AgentName, TurnConfig } from '../turn/turn-program.ts'
import { type AcpSettings, readSettings } from './agent-settings.ts'
import { withoutSecrets } from './sent-message.ts'

export interface AcpAgentOptions {
  agent: AgentName
  command: string
  args: string[]
  env: Record<string, string>
  cwd: string
  /** The project whose logs get the raw output. */
  projectRoot: string
  /** Names the raw log. */
  label: string
  config: AcpConfig
}

export interface AcpConfig extends TurnConfig {
  /** How long the agent may take to answer `initialize`. Default 60 s. */
  handshakeMs?: number | undefined
  /** How long it may take to list its conversations, or to repeat one. Default 120 s. */
  conversationsMs?: number | undefined
}

/** A message of the agent that is about the conversation, or the answer to its prompt. */
export interface AcpMessage extends RpcSource {
  request?: RpcRequest
}

/** What the agent says of itself in the handshake. */
export interface AcpHello {
  version?: string
  canLoad: boolean
  canResume: boolean
  canFork: boolean
  canClose: boolean
  canList: boolean
  /** Takes messages for a turn that runs. */
  canSteer: boolean
  takesImages: boolean
  takesHttpServers: boolean
  takesDirectories: boolean
  /** The names of its ways to log in. */
  logins: string[]
}

/** A running agent that speaks the Agent Client Protocol. It holds the conversation of one session. */
export class AcpAgent implements KeptAgent {
  readonly process: AgentProcess
  readonly agent: AgentName
  readonly ended: Promise<{ exit: ProcessExit }>
  hello: AcpHello = NOTHING_KNOWN
  /** The open conversation and its settings, as the agent reported them. */
  conversation: string | null = null
  settings: AcpSettings = { modes: [], options: [] }
  /** The running total of the conversation's cost. */
  costUsd: number | undefined
  context: ContextUsage | undefined
  slashCommands: Omit<SlashCommand, 'type'>[] = []
  /** The instructions that the conversation was given last. */
  instructions: string | undefined
  /** How many messages of the conversation the last load has repeated. */
  repeated = 0
  /** Calls that a person allowed for the rest of the session. */
  readonly allowed = new Set<string>()
  readonly #rpc: JsonRpcConnection
  readonly #config: AcpConfig
  readonly #log: TurnLog
  #listener: ((message: AcpMessage) => void) | null = null
  readonly #taken = new Wake()
  /** What it said while no turn ran. */
  readonly #unheard: AcpMessage[] = []
  #waitingBytes = 0
  #promptId: RpcId | null = null
  #position = 0
  #noise: string[] = []
  #isUsable = true
  #isStopped = false

  private constructor(process: AgentProcess, { agent, config }: AcpAgentOptions, spool: Spool) {
    this.process = process
    this.agent = agent
    this.#config = config
    this.#log = new TurnLog(config)
    this.#rpc = new JsonRpcConnection(
      process,
      {
        onNotification: (_method, params, source) => {
          this.#note(params)
          this.#deliver(source)
        },
        onRequest: (request, source) => {
          if (!this.#deliver({ ...source, request })) this.refuseOutsideTurn(request)
        },
        onAnswer: (id, source) => {
          if (id === this.#promptId) this.#deliver(source)
          else this.#position = source.offset + source.bytes + 1
        },
        onSent: message => spool.noteSent(JSON.stringify(message, withoutSecrets)),
        onNoise: text => this.#keepNoise(text.slice(0, MAX_LOG_CHARS)),
        ready: () => (this.isFull ? this.#taken.wait() : undefined),
      },
      { hasVersion: true, name: agent.name },
    )
    this.ended = this.#run()
  }

  /**
   * Spawns the agent and performs the handshake. Rejects if the agent does not answer in time, speaks another version
   * of the protocol, or the start is cancelled, and leaves no process running then.
   */
  static async start(options: AcpAgentOptions, signal?: AbortSignal): Promise<AcpAgent> {
    const { agent, command, args, env, cwd, projectRoot, label, config } = options
    const names = { harness: agent.harnessId, sessionId: label, turnId: randomUUID() }
    const spool = await openSpool({ projectRoot, ...names, rawLogs: config.rawLogs })
    const process = await spawnAgent({ command, args, env, cwd, spool, keepInputOpen: true })
    const started = new AcpAgent(process, options, spool)
    started.#log.spawned({ command, args, cwd }, process)
    const patience = AbortSignal.timeout(config.handshakeMs ?? HANDSHAKE_MS)
    try {
      signal?.throwIfAborted()
      const given = signal ? anySignal([signal, patience]) : patience
      const hello = asObject(await started.#rpc.request('initialize', INITIALIZE, given))
      if (hello.protocolVersion !== PROTOCOL)
        throw new Error(
          `It speaks version ${String(hello.protocolVersion)} of the Agent Client Protocol, and Chirality version ${PROTOCOL}.`,
        )
      started.hello = readHello(hello)
      return started
    } catch (cause) {
      await started.stop({ interruptGraceMs: 0 })
      await started.ended
      throw started.#notStarted(cause, { isLate: patience.aborted, command })
    }
  }

  get isUsable(): boolean {
    return this.#isUsable
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  get isResting(): boolean {
    return this.#listener === null
  }

  /** Nothing more is read until the listener has taken something. */
  get isFull(): boolean {
    return this.#waitingBytes > MAX_WAITING_BYTES
  }

  /** Offset in the spool after the last message that was passed on. */
  get position(): number {
    return this.#position
  }

  /** Waits no longer than the signal allows. */
  async request(method: string, params: unknown, signal?: AbortSignal): Promise<Record<string, unknown>> {
    const patience = AbortSignal.timeout(REQUEST_MS)
    const given = signal ? anySignal([signal, patience]) : patience
    return asObject(await this.#rpc.request(method, params, given))
  }

  /** Sends the message of a turn. Its answer goes to the listener, too. Returns the id of the request. */
  prompt(params: unknown): { id: RpcId; answered: Promise<unknown> } {
    const id = this.nextId
    this.#promptId = id
    return { id, answered: this.#rpc.request('session/prompt', params) }
  }

  get nextId(): number {
    return this.#rpc.nextId
  }

  notify(method: string, params: unknown): void {
    this.#rpc.notify(method, params)
  }

  respond(id: RpcId, result: unknown): void {
    this.#rpc.respond(id, result)
  }

  respondError(id: RpcId, message: string, code = METHOD_NOT_FOUND): void {
    this.#rpc.respondError(id, code, message)
  }

  /** Nobody is there who could decide about it. */
  refuseOutsideTurn({ id, method }: RpcRequest): void {
    // Only Chirality asks for this: a program that repeats its input gets its own error as the answer.
    this.respondError(id, method === 'initialize' ? NO_AGENT : NO_TURN)
  }

  /**
   * The next turn begins with what the agent said since the last one. The listener calls `taken` for each message, so
   * that a slow one is not flooded.
   */
  listen(listener: (message: AcpMessage) => void): AcpMessage[] {
    this.#listener = listener
    return this.#unheard.splice(0)
  }

  /** The turn is over, or the messages are those of an earlier turn that a load repeats. */
  leave({ discard = false } = {}): void {
    this.#listener = discard ? message => this.#discard(message) : null
    if (discard) this.repeated = 0
    this.#waitingBytes = 0
    this.#taken.notify()
  }

  taken({ bytes }: AcpMessage): void {
    this.#waitingBytes -= bytes
    if (this.#waitingBytes <= MAX_WAITING_BYTES) this.#taken.notify()
  }

  stop(options: StopOptions = {}): Promise<StopReport> {
    // An agent that has exited by itself was not stopped.
    this.#isStopped ||= this.#isUsable
    this.#isUsable = false
    this.process.endInput()
    // A paused reader would never see the exit.
    this.#waitingBytes = Number.NEGATIVE_INFINITY
    this.#taken.notify()
    return this.process.stop({ ...this.#config.stop, ...options })
  }

  async dismiss(): Promise<void> {
    await this.stop({ interruptGraceMs: 0 })
  }

  /** What it said on stderr, or printed that is no JSON. */
  get said(): string {
    return this.#noise.join('\n').trim()
  }

  async #run(): Promise<{ exit: ProcessExit }> {
    try {
      await this.#rpc.pump()
    } catch (error) {
      // An internal error: the raw output cannot be read any more, so the agent is ended.
      this.#log.write('error', 'acp:unreadable', { error: String(error) })
      await this.stop({ interruptGraceMs: 0 })
      await this.process.close()
    }
    this.#isUsable = false
    const exit = await this.process.exited
    this.#log.exited(exit, this.process.fault)
    return { exit }
  }

  /** False if no turn runs that could receive it. */
  #deliver(message: AcpMessage): boolean {
    this.#position = message.offset + message.bytes + 1
    if (!this.#listener) {
      const bytes = this.#unheard.reduce((sum, unheard) => sum + unheard.bytes, 0)
      if (!message.request && bytes + message.bytes <= MAX_WAITING_BYTES) this.#unheard.push(message)
      return false
    }
    this.#waitingBytes += message.bytes
    this.#listener(message)
    return true
  }

  #discard(message: AcpMessage): void {
    if (message.request) this.refuseOutsideTurn(message.request)
    const { update } = asObject(asObject(message.raw).params)
    if (String(asObject(update).sessionUpdate).endsWith('_message_chunk')) this.repeated += 1
    this.taken(message)
  }

  /** Kept also between turns. */
  #note(params: unknown): void {
    const update = asObject(asObject(params).update)
    if (update.sessionUpdate === 'config_option_update') readSettings(this.settings, update)
    if (update.sessionUpdate === 'current_mode_update' && typeof update.currentModeId === 'string')
      this.settings.mode = update.currentModeId
  }

  #keepNoise(text: string): void {
    this.#log.write('warn', 'acp:noise', { text })
    this.#noise = [...this.#noise.slice(1 - MAX_NOISE_LINES), text]
  }

  #notStarted(cause: unknown, { isLate, command }: { isLate: boolean; command: string }): HarnessError {
    const { name, harnessId } = this.agent
    const said = this.said ? ` It said: ${this.said}` : ''
    const reason = isLate
      ? 'It did not answer "initialize" in time.'
      : cause instanceof Error
        ? cause.message
        : cause
    const message = `${name} (${command}) could not be started as an agent of the Agent Client Protocol. ${String(reason)}${said}`
    return new HarnessError(message, 'process_crashed', harnessId, cause)
  }
}

function readHello(hello: Record<string, unknown>): AcpHello {
  const capabilities = asObject(hello.agentCapabilities)
  const session = asObject(capabilities.sessionCapabilities)
  const { version } = asObject(hello.agentInfo)
  const logins = Array.isArray(hello.authMethods) ? hello.authMethods : []
  const has = (value: unknown) => typeof value === 'object' && value !== null
  return {
    ...(typeof version === 'string' ? { version } : {}),
    canLoad: capabilities.loadSession === true,
    canResume: has(session.resume),
    canFork: has(session.fork),
    canClose: has(session.close),
    canList: has(session.list),
    canSteer: asObject(asObject(hello._meta).steering).supported === true,
    takesImages: asObject(capabilities.promptCapabilities).image === true,
    takesHttpServers: asObject(capabilities.mcpCapabilities).http === true,
    takesDirectories: has(session.additionalDirectories),
    logins: logins.flatMap(method => {
      const { name } = asObject(method)
      return typeof name === 'string' ? [name] : []
    }),
  }
}

const NOTHING_KNOWN: AcpHello = readHello({})
const PROTOCOL = 1
/** No file system and no terminal of ours: what the agent does it does itself, and asks about. */
const INITIALIZE = {
  protocolVersion: PROTOCOL,
  clientCapabilities: {
    fs: { readTextFile: false, writeTextFile: false },
    terminal: false,
    elicitation: { form: {} },
    // Agents that run commands in terminals of their own tell what these print.
    _meta: { terminal_output: true },
  },
  clientInfo: { name: 'chirality', title: 'Chirality', version: '0.1.0' },
}
const HANDSHAKE_MS = 60_000
const REQUEST_MS = 120_000
const METHOD_NOT_FOUND = -32_601
const NO_AGENT = 'It repeats what it is sent: it is no agent of this protocol.'
const NO_TURN = 'No turn is running that this could be about.'
const MAX_WAITING_BYTES = 1024 * 1024
const MAX_LOG_CHARS = 500
const MAX_NOISE_LINES = 10
