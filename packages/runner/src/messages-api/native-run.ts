import type { HarnessQuery } from '@chirality/core'
import { AsyncQueue } from '../async-queue.ts'
import { answerEvents } from './answer-events.ts'
import type { Conversation } from './conversation.ts'
import { AgentLoop } from './loop/agent-loop.ts'
import type { PromptContent } from './loop/history.ts'
import type { MessagesApiEvent, NewEvent } from './native-event.ts'
import type { PreparedTurn } from './prepare-turn.ts'
import type { RawLog } from './raw-log.ts'
import { failedResult, resultEvent } from './result-event.ts'
import { SpendingMeter } from './spending.ts'

export interface NativeRunOptions {
  query: HarnessQuery
  prepared: PreparedTurn
  conversation: Conversation
  log: RawLog
}

/** One turn as raw events: what is written to the log, and what programs get that want them all. */
export class NativeRun {
  readonly #options: NativeRunOptions
  readonly #queue = new AsyncQueue<MessagesApiEvent>()
  readonly #stop = new AbortController()
  readonly #meter: SpendingMeter
  #loop: AgentLoop | null = null
  #isToolRunning = false

  constructor(options: NativeRunOptions) {
    this.#options = options
    this.#meter = new SpendingMeter(options.prepared.prices)
  }

  /** Ends the turn with what there is. */
  stop(): void {
    this.#stop.abort(new DOMException('The turn was stopped.', 'AbortError'))
  }

  /** False when it is too late. */
  add(content: PromptContent): boolean {
    return !this.#stop.signal.aborted && (this.#loop?.add(content) ?? false)
  }

  readonly emit = (event: NewEvent): void => {
    const full: MessagesApiEvent = {
      ...event,
      session_id: this.#options.conversation.transcript.nativeSessionId,
    }
    this.#options.log.write(full)
    this.#queue.push(full)
  }

  /** Leaving it early stops the turn. When it is over nothing of the turn runs any more. */
  async *events(): AsyncGenerator<MessagesApiEvent> {
    const work = this.#run().finally(() => this.#queue.end())
    try {
      yield* this.#queue
    } finally {
      this.stop()
      await work
    }
  }

  async #run(): Promise<void> {
    const startedAt = performance.now()
    const { prepared, query } = this.#options
    let numTurns = 0
    const facts = () => ({
      durationMs: Math.round(performance.now() - startedAt),
      numTurns,
      spending: this.#meter.spending,
      expectsJson: query.outputSchema !== undefined,
    })
    this.emit(this.#init())
    let end: NewEvent
    try {
      const loop = this.#createLoop(() => {
        numTurns += 1
      })
      this.#loop = loop
      const result = await loop.prompt(prepared.prompt.blocks, {
        signal: this.#stop.signal,
        mayGoOn: () => this.#meter.spending.costUsd < (query.maxBudgetUsd ?? Number.POSITIVE_INFINITY),
      })
      end = resultEvent(result, facts())
    } catch (error) {
      end = failedResult(error, facts())
      if (this.#stop.signal.aborted) {
        const terminal_reason = this.#isToolRunning ? 'aborted_tools' : 'aborted_streaming'
        end = { ...end, errors: [], terminal_reason }
      }
    }
    this.emit(end)
  }

  #createLoop(onRequest: () => void): AgentLoop {
    const { prepared, conversation } = this.#options
    const told = answerEvents(this.emit)
    return new AgentLoop({ ...prepared.loop, history: conversation.history }, prepared.tools, {
      ...told,
      onRequest: request => {
        this.#isToolRunning = false
        onRequest()
        told.onRequest?.(request)
      },
      onUsage: (usage, model) => {
        this.#isToolRunning = true
        this.#meter.add(usage, model)
      },
      onMessage: message => conversation.transcript.append(message),
    })
  }

  #init(): NewEvent {
    const { query, prepared } = this.#options
    return {
      type: 'system',
      subtype: 'init',
      cwd: query.cwd,
      model: prepared.loop.model,
      tools: prepared.tools.map(({ name }) => name),
      permissionMode: prepared.permissionMode,
      apiKeySource: prepared.loop.apiKey ? 'ANTHROPIC_API_KEY' : 'ANTHROPIC_AUTH_TOKEN',
    }
  }
}
