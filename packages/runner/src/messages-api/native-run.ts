import type { HarnessQuery, PermissionMode } from '@chirality/core'
import { AsyncQueue } from '../async-queue.ts'
import { leftBehind } from '../turn/turn-events.ts'
import { answerEvents, failureMessage } from './answer-events.ts'
import { ApiError } from './api/api-error.ts'
import type { Message } from './api/messages.ts'
import type { Conversation } from './conversation.ts'
import { AgentLoop } from './loop/agent-loop.ts'
import type { PromptContent } from './loop/history.ts'
import type { MessagesApiEvent, NewEvent } from './native-event.ts'
import type { Gate } from './permissions/gate.ts'
import type { Grants } from './permissions/grants.ts'
import type { PreparedTurn } from './prepare-turn.ts'
import type { RawLog } from './raw-log.ts'
import { failedResult, resultEvent, type TurnFacts } from './result-event.ts'
import { SpendingMeter } from './spending.ts'
import { systemPrompt } from './system-prompt.ts'
import { Toolbox } from './toolbox.ts'

export interface NativeRunOptions {
  query: HarnessQuery
  prepared: PreparedTurn
  conversation: Conversation
  log: RawLog
  grants: Grants
  canAsk: boolean
  /** Silence after which it is told. */
  stallMs: number
}

/** One turn as raw events: what is written to the log, and what programs get that want them all. */
export class NativeRun {
  readonly #options: NativeRunOptions
  readonly #queue = new AsyncQueue<MessagesApiEvent>()
  readonly #stop = new AbortController()
  readonly #meter: SpendingMeter
  readonly #toolbox: Toolbox
  readonly #loop: AgentLoop
  readonly #startedAt = performance.now()
  #eventAt = performance.now()
  #requests = 0
  #isStreaming = false
  #saveFailure: unknown

  constructor(options: NativeRunOptions) {
    this.#options = options
    const { prepared, conversation, grants, canAsk, query } = options
    this.#meter = new SpendingMeter(prepared.prices)
    const marker = conversation.transcript.nativeSessionId
    const host = { emit: this.#emit, grants, canAsk, marker, onInterrupt: () => this.stop() }
    this.#toolbox = new Toolbox(prepared.toolbox, host)
    const names = this.#toolbox.tools.map(({ name }) => name)
    const config = {
      ...prepared.loop,
      systemPrompt: systemPrompt(query, names),
      history: conversation.history,
    }
    this.#loop = new AgentLoop(config, this.#toolbox.tools, this.#handler())
  }

  get gate(): Gate {
    return this.#toolbox.gate
  }

  /** Ends the turn with what there is. */
  stop(): void {
    this.#stop.abort(new DOMException('The turn was stopped.', 'AbortError'))
  }

  /** False when it is too late. */
  add(content: PromptContent): boolean {
    return this.#loop.add(content)
  }

  setPermissionMode(mode: PermissionMode): void {
    this.#toolbox.setPermissionMode(mode)
  }

  /** Leaving it early stops the turn. When it is over nothing of the turn runs any more. */
  async *events(): AsyncGenerator<MessagesApiEvent> {
    const { stallMs } = this.#options
    const timer = setInterval(() => this.#tellStall(), stallMs)
    const work = this.#run().finally(() => this.#queue.end())
    // Told to whoever reads; until then it is nobody's unhandled rejection.
    work.catch(() => {})
    try {
      yield* this.#queue
      await work
    } finally {
      clearInterval(timer)
      this.stop()
      await work.catch(() => {})
    }
  }

  readonly #emit = (event: NewEvent): void => {
    const { log, conversation } = this.#options
    const full: MessagesApiEvent = { ...event, session_id: conversation.transcript.nativeSessionId }
    this.#eventAt = performance.now()
    log.write(full)
    this.#queue.push(full)
  }

  async #run(): Promise<void> {
    this.#emit(this.#init())
    if (this.#options.conversation.history.length > 0) await this.#endOrphans()
    const end = await this.#prompt()
    const count = await this.#toolbox.close()
    if (count > 0 && !this.#stop.signal.aborted) this.#notice(leftBehind('', count).message)
    this.#tellFailedWrites()
    this.#emit(end())
  }

  /** Only what crashed leaves some, so a new conversation has none. */
  async #endOrphans(): Promise<void> {
    const count = await this.#toolbox.endOrphans().catch(() => 0)
    if (count > 0) this.#notice(leftBehind('', count).message)
  }

  /** The end is made when everything has been stopped: that takes time, too. */
  async #prompt(): Promise<() => NewEvent> {
    const { prepared, query } = this.#options
    const { signal } = this.#stop
    const maxUsd = query.maxBudgetUsd ?? Number.POSITIVE_INFINITY
    try {
      const mayGoOn = () => this.#meter.spending.costUsd < maxUsd
      const result = await this.#loop.prompt(prepared.prompt.blocks, { signal, mayGoOn })
      return () => resultEvent(result, this.#facts())
    } catch (error) {
      if (!signal.aborted) {
        if (error instanceof ApiError) this.#emit(failureMessage(error))
        return () => failedResult(error, this.#facts())
      }
      const terminal_reason = this.#isStreaming ? 'aborted_streaming' : 'aborted_tools'
      return () => ({ ...failedResult(error, this.#facts()), errors: [], terminal_reason })
    }
  }

  #handler() {
    const told = answerEvents(this.#emit)
    return {
      ...told,
      onRequest: (request: Parameters<NonNullable<typeof told.onRequest>>[0]) => {
        this.#isStreaming = true
        this.#requests += 1
        told.onRequest?.(request)
      },
      onUsage: (usage: Parameters<SpendingMeter['add']>[0], model: string) => {
        this.#isStreaming = this.#stop.signal.aborted
        this.#meter.add(usage, model)
      },
      onMessage: (message: Message) => {
        try {
          this.#options.conversation.transcript.append(message)
        } catch (error) {
          this.#saveFailure = error
        }
      },
    }
  }

  #facts(): TurnFacts {
    return {
      durationMs: Math.round(performance.now() - this.#startedAt),
      numTurns: this.#requests,
      spending: this.#meter.spending,
      expectsJson: this.#options.query.outputSchema !== undefined,
    }
  }

  #tellStall(): void {
    if (this.gate.isWaiting) return
    const idleMs = Math.round(performance.now() - this.#eventAt)
    if (idleMs < this.#options.stallMs) return
    const session_id = this.#options.conversation.transcript.nativeSessionId
    this.#queue.push({ type: 'stalled', session_id, idle_ms: idleMs })
  }

  #tellFailedWrites(): void {
    const { log } = this.#options
    if (log.failure !== undefined)
      this.#notice(`The raw log ${log.path} could not be written: ${String(log.failure)}`)
    if (this.#saveFailure === undefined) return
    this.#notice(
      `The conversation could not be saved, the next turn will miss a part: ${String(this.#saveFailure)}`,
    )
  }

  #notice(content: string): void {
    this.#emit({ type: 'system', subtype: 'informational', level: 'warning', content })
  }

  #init(): NewEvent {
    const { query, prepared } = this.#options
    return {
      type: 'system',
      subtype: 'init',
      cwd: query.cwd,
      model: prepared.loop.model,
      tools: this.#toolbox.tools.map(({ name }) => name),
      permissionMode: prepared.toolbox.policy.mode,
      apiKeySource: prepared.loop.apiKey ? 'ANTHROPIC_API_KEY' : 'ANTHROPIC_AUTH_TOKEN',
    }
  }
}
