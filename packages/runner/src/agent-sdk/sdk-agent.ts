import type { CagePlan } from '@chirality/cage'
import type { NdjsonRecord } from '@chirality/core'
import { asObject } from '../common/json.ts'
import { type AgentProcess, type ProcessExit, spawnAgent } from '../process/agent-process.ts'
import type { AgentOutput } from '../process/output/agent-output.ts'
import type { Spool } from '../process/spool/spool.ts'
import type { StopOptions, StopReport } from '../process/stop/stop.ts'
import { unlessAborted } from '../turn/turn-stop.ts'
import type { AgentSdkHarnessConfig } from './config.ts'
import type { StartRequest } from './protocol/worker-messages.ts'
import { answerHook } from './runtime/decision-mapper.ts'
import { translateMessage } from './runtime/event-translator.ts'
import { SdkWorker, type SpawnRequest } from './sdk-worker.ts'

/** The program that starts the agent in its cage. */
export interface CageKeeper {
  command: string
  args: string[]
  env: Record<string, string>
  cage: CagePlan
}

export interface SdkAgentOptions {
  start: StartRequest
  /** The agent that the SDK requests runs in this cage, or not at all. */
  keeper?: CageKeeper | undefined
  spool: Spool
  config: Pick<AgentSdkHarnessConfig, 'onRuntimeEvent' | 'startLimitMs'>
  /** Fires when the agent is no longer needed. */
  signal: AbortSignal
}

/**
 * Starts the SDK and the agent that it requests. When it rejects, the thread has ended and no process is running. The
 * result is used like any `claude`: lines written to it reach the SDK, which forwards them in its own format, and the
 * agent's output reaches the SDK as well.
 */
export function startSdkAgent(options: SdkAgentOptions): Promise<AgentProcess> {
  return new SdkAgent(options).started()
}

class SdkAgent implements AgentProcess {
  readonly #options: SdkAgentOptions
  readonly #worker: SdkWorker
  readonly #waitingInput: string[] = []
  /** Requests of the agent that Chirality answers, not the SDK; each with the SDK's own id for it. */
  readonly #asked = new Map<string, string>()
  #process: AgentProcess | null = null
  #spawning: Promise<void> = Promise.resolve()
  #failure: string | undefined
  #isKilledBySdk = false
  /** Set when we closed the SDK: its end is then not a failure. */
  #isFinished = false
  #isRead = false
  readonly #started: Promise<void>
  #onStarted: { resolve: () => void; reject: (error: unknown) => void } | null = null

  constructor(options: SdkAgentOptions) {
    this.#options = options
    this.#started = new Promise((resolve, reject) => {
      this.#onStarted = { resolve, reject }
    })
    this.#worker = new SdkWorker(options.start, {
      onSpawn: request => {
        this.#spawning = this.#spawn(request)
      },
      onStdin: text => this.#input(text),
      onStdinEnd: () => this.#process?.endInput(),
      onKill: () => {
        this.#isKilledBySdk = true
        void this.#process?.stop({ interruptGraceMs: 0 })
      },
      onHook: request => void answerHook(request, options.config).then(this.#decide(request.requestId)),
      // The spool holds the same request. Its reader decides, and `write` delivers the answer.
      onPermission: () => {},
      onWithdrawn: name => {
        for (const [id, known] of this.#asked) if (known === name) this.#asked.delete(id)
      },
      onMessage: message => this.#tell(message),
      onEnd: error => this.#end(error),
    })
  }

  /** An SDK that hangs during loading, or never requests its agent, must not hang the turn. */
  async started(): Promise<AgentProcess> {
    const { signal, config } = this.#options
    const { startLimitMs = START_LIMIT_MS } = config
    const onLate = () => {
      const message = `The Agent SDK did not start its agent within ${startLimitMs / 1000} s.`
      this.#onStarted?.reject(new Error(message))
    }
    const late = setTimeout(onLate, startLimitMs)
    try {
      await unlessAborted(this.#started, signal)
      return this
    } catch (error) {
      await this.#giveUp()
      throw error
    } finally {
      clearTimeout(late)
    }
  }

  get pid(): number {
    return this.#agent.pid
  }

  get marker(): string {
    return this.#agent.marker
  }

  get spoolPath(): string {
    return this.#agent.spoolPath
  }

  get stderrPath(): string {
    return this.#agent.stderrPath
  }

  get fault(): string | null {
    return this.#agent.fault
  }

  get tries(): AgentProcess['tries'] {
    return this.#agent.tries
  }

  get exited(): Promise<ProcessExit> {
    return this.#agent.exited
  }

  async read(): Promise<AgentOutput[] | undefined> {
    const batch = this.#isRead ? undefined : await this.#agent.read()
    for (const output of batch ?? []) if (output.kind === 'record') this.#hear(output.record)
    if (batch !== undefined || this.#isRead) return batch
    this.#isRead = true
    const { code, signal } = await this.exited
    this.#worker.exited(code, signal)
    // An SDK that fails also ends its agent, whose exit may be reported first.
    if (this.#isKilledBySdk) await this.#lastWords()
    return this.#failure === undefined ? undefined : [{ kind: 'stderr', line: `Agent SDK: ${this.#failure}` }]
  }

  /** User messages and answers go through the SDK; our own control requests go directly to the agent. */
  async write(text: string): Promise<boolean> {
    if (this.#failure !== undefined) return false
    const line = JSON.parse(text) as Record<string, unknown>
    switch (line.type) {
      case 'user':
        this.#worker.send(line)
        return true
      case 'control_response':
        this.#answer(line.response as Record<string, unknown>)
        return true
      default:
        return this.#agent.write(text)
    }
  }

  /** The SDK waits for an answer before it ends the agent's input; an agent without a prompt never gives one. */
  endInput(): void {
    this.#isFinished = true
    this.#worker.finish()
    this.#process?.endInput()
  }

  signal(signal: NodeJS.Signals): boolean {
    return this.#agent.signal(signal)
  }

  stop(options?: StopOptions): Promise<StopReport> {
    return this.#agent.stop(options)
  }

  async close(): Promise<void> {
    this.#isFinished = true
    await this.#worker.close()
    await this.#agent.close()
  }

  get #agent(): AgentProcess {
    if (this.#process === null) throw new Error('The agent is not started.')
    return this.#process
  }

  /** Limited in time: an SDK that killed its agent and then hangs reports no error. */
  async #lastWords(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, LAST_WORDS_MS)
    })
    await Promise.race([this.#worker.ended, late])
    clearTimeout(timer)
  }

  /** Also stops an agent that was requested at the last moment. */
  async #giveUp(): Promise<void> {
    this.#isFinished = true
    await this.#worker.close()
    await this.#spawning
    await this.#process?.stop({ interruptGraceMs: 0 })
    await this.#process?.close()
  }

  async #spawn({ command, args, cwd, env }: SpawnRequest): Promise<void> {
    try {
      const { spool, keeper } = this.#options
      const requested = { command, args, env }
      const program = keeper === undefined ? requested : inKeeper(keeper, requested)
      this.#process = await spawnAgent({ ...program, cwd, spool, keepInputOpen: true })
      for (const text of this.#waitingInput.splice(0)) void this.#process.write(text)
      this.#onStarted?.resolve()
    } catch (error) {
      this.#onStarted?.reject(error)
    }
  }

  #input(text: string): void {
    if (this.#process) void this.#process.write(text)
    else this.#waitingInput.push(text)
  }

  #hear(record: NdjsonRecord): void {
    // The SDK fails at a line that it cannot parse; the translator reports the line instead.
    if (record.kind !== 'json') return
    const { type, request_id: id, request } = record.value as Record<string, unknown>
    const { subtype, tool_use_id: toolUseId } = asObject(request)
    if (type === 'control_request' && typeof id === 'string') {
      if (subtype === 'can_use_tool') this.#asked.set(id, typeof toolUseId === 'string' ? toolUseId : id)
      if (subtype === 'hook_callback' && this.#options.start.guardRefusal)
        this.#asked.set(id, `guard ${toolUseId}`)
    }
    this.#worker.stdout(`${JSON.stringify(record.value)}\n`)
  }

  #answer({ request_id: id, response, error }: Record<string, unknown>): void {
    const name = this.#asked.get(String(id))
    if (name === undefined) return
    this.#asked.delete(String(id))
    const refusal = { behavior: 'deny', message: String(error ?? 'Denied.') }
    this.#worker.decide(name, (response as Record<string, unknown> | undefined) ?? refusal)
  }

  #decide(requestId: string): (output: Record<string, unknown>) => void {
    return output => this.#worker.decide(requestId, output)
  }

  #tell(message: Record<string, unknown>): void {
    const event = translateMessage(String(message.uuid ?? ''), message)
    if (event) void Promise.resolve(this.#options.config.onRuntimeEvent?.(event)).catch(() => {})
  }

  /** Without the SDK nothing answers the agent, so it is stopped. */
  #end(error: string | undefined): void {
    if (this.#process === null)
      return this.#onStarted?.reject(new Error(error ?? 'The SDK ended before it started its agent.'))
    if (error === undefined && this.#isFinished) return
    this.#failure = error ?? 'The SDK ended before its agent did.'
    void this.#process.stop({ interruptGraceMs: 0 })
  }
}

/** The keeper in the place of the agent, with the command line that the SDK chose for it. */
function inKeeper(
  { cage, ...keeper }: CageKeeper,
  { command, args, env }: Pick<SpawnRequest, 'command' | 'args' | 'env'>,
): CageKeeper {
  return { ...keeper, cage: { ...cage, command, args, env: { ...cage.env, ...env } } }
}

const LAST_WORDS_MS = 5_000
const START_LIMIT_MS = 60_000
