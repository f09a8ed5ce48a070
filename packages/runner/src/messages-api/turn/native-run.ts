import type { Guard, HarnessQuery, PermissionMode } from '@chirality/core'
import { AsyncQueue } from '../../common/async-queue.ts'
import { asObject } from '../../common/json.ts'
import { StallWatch } from '../../turn/stall-watch.ts'
import { leftBehind, type StopReason } from '../../turn/turn-events.ts'
import { ApiError } from '../api/api-error.ts'
import type { Message } from '../api/messages.ts'
import { systemPrompt } from '../conversation/prompt-blocks.ts'
import { type Conversation, openTranscript } from '../conversation/transcript.ts'
import { answerEvents, failureMessage } from '../log/answer-events.ts'
import type { MessagesApiEvent, NewEvent } from '../log/native-event.ts'
import type { RawLogWriter, TurnTracer } from '../log/raw-log.ts'
import { failedResult, type ResultFacts, resultEvent, SpendingMeter } from '../log/result-event.ts'
import { AgentLoop } from '../loop/agent-loop.ts'
import { firstAsked, type PromptContent } from '../loop/history.ts'
import type { Gate } from '../permissions/gate.ts'
import type { Grants } from '../permissions/policy.ts'
import type { PreparedRun } from './prepare-turn.ts'
import { Toolbox } from './toolbox.ts'

export interface NativeRunOptions {
  query: HarnessQuery
  prepared: PreparedRun
  /** Closed at the end of the run. */
  log: RawLogWriter
  tracer: TurnTracer
  grants: Grants
  canAsk: boolean
  guard?: Guard | undefined
  /** The duration of silence that is reported as a stall. */
  stallMs: number
}

/**
 * One turn as raw events, for the log and for callers that want all of them. Once started, it continues whether they
 * are read or not.
 */
export class NativeRun {
  readonly #options: NativeRunOptions
  readonly #conversation: Conversation
  readonly #queue = new AsyncQueue<MessagesApiEvent>()
  readonly #stop = new AbortController()
  readonly #meter: SpendingMeter
  readonly #toolbox: Toolbox
  readonly #loop: AgentLoop
  readonly #startedAt = performance.now()
  #watch: StallWatch | undefined
  #work: Promise<void> = Promise.resolve()
  #stoppedAs: StopReason | undefined
  #requests = 0
  #isStreaming = false
  #saveFailure: unknown
  /** The id of the transcript's last line, if it is the model's. */
  #lastAnswer: string | undefined

  private constructor(options: NativeRunOptions, conversation: Conversation) {
    this.#options = options
    this.#conversation = conversation
    const { prepared, grants, canAsk, guard, query, tracer } = options
    this.#meter = new SpendingMeter(prepared.prices)
    this.#toolbox = new Toolbox(prepared.toolbox, {
      emit: this.#emit,
      grants,
      canAsk,
      guard,
      marker: tracer.marker,
      onCommand: pid => tracer.command(pid),
      onInterrupt: () => this.stop(),
    })
    const names = this.#toolbox.tools.map(({ name }) => name)
    const config = {
      ...prepared.loop,
      systemPrompt: systemPrompt(query, names),
      history: conversation.history,
    }
    this.#loop = new AgentLoop(config, this.#toolbox.tools, this.#handler())
  }

  /** Throws when another turn uses the conversation. */
  static async open(options: NativeRunOptions, busyConversations: Set<string>): Promise<NativeRun> {
    const conversation = await openTranscript(options.query, busyConversations)
    try {
      return new NativeRun(options, conversation)
    } catch (error) {
      conversation.close()
      throw error
    }
  }

  get nativeSessionId(): string {
    return this.#conversation.transcript.nativeSessionId
  }

  /** The requested conversation that no longer exists. */
  get lostId(): string | undefined {
    return this.#conversation.lostId
  }

  get gate(): Gate {
    return this.#toolbox.gate
  }

  /** Call once. Later errors reach the reader of the batches. */
  start(): void {
    this.#work = this.#run().finally(() => this.#queue.end())
    // Without this handler, an error before the first read would be an unhandled rejection.
    this.#work.catch(() => {})
  }

  /** Resolves when nothing of the turn is running. Never rejects. */
  get done(): Promise<void> {
    return this.#work.catch(() => {})
  }

  stop(reason?: StopReason): void {
    this.#stoppedAs = reason ?? this.#stoppedAs
    this.#stop.abort(new DOMException('The turn was stopped.', 'AbortError'))
  }

  /** False when the turn no longer accepts messages. */
  add(content: PromptContent): boolean {
    return this.#loop.add(content)
  }

  setPermissionMode(mode: PermissionMode): void {
    this.#toolbox.setPermissionMode(mode)
  }

  /** Stops the turn and waits until nothing of it is running. */
  async close(): Promise<void> {
    this.stop()
    await this.done
  }

  /** Rejects with the error of the turn. */
  async *batches(): AsyncGenerator<MessagesApiEvent[]> {
    do {
      const batch = this.#queue.takeAll()
      if (batch.length > 0) yield batch
    } while (await this.#queue.more())
    await this.#work
  }

  readonly #emit = (event: NewEvent): void => {
    this.#watch?.reset()
    this.#tell(event)
  }

  #tell(event: NewEvent): void {
    this.#noteRequest(event)
    const full: MessagesApiEvent = { ...event, session_id: this.nativeSessionId }
    this.#options.log.write(full)
    this.#queue.push(full)
  }

  /**
   * The next process has to know which call nobody decided about: it did not run. Throws if the answer to a request cannot be
   * written, so that the call does not run either.
   */
  #noteRequest({ type, request_id, request, response }: NewEvent): void {
    const { transcript } = this.#conversation
    if (type === 'control_request') {
      const asked = firstAsked(String(asObject(request).tool_use_id))
      try {
        transcript.note({ asked, request: String(request_id) })
      } catch (error) {
        this.#saveFailure = error
      }
    } else if (type === 'control_response')
      transcript.note({ decided: String(asObject(response).request_id) })
    else if (type === 'control_cancel_request') transcript.note({ decided: String(request_id) })
  }

  async #run(): Promise<void> {
    const { log, stallMs } = this.#options
    this.#watch = new StallWatch({
      stallMs,
      isExpected: () => this.gate.isWaiting,
      // Not an event of the turn, so the silence continues.
      onStall: idleMs => this.#tell({ type: 'stalled', idle_ms: idleMs }),
    })
    try {
      await this.#converse()
    } finally {
      this.#watch.end()
      this.#conversation.close()
      await log.close()
    }
  }

  async #converse(): Promise<void> {
    this.#emit(this.#init())
    const end = await this.#prompt()
    const count = await this.#toolbox.close()
    if (count > 0 && !this.#stop.signal.aborted) this.#notice(leftBehind('', count).message)
    this.#tellFailedWrites()
    this.#emit({
      ...end(),
      ...(this.#stoppedAs ? { stopped_as: this.#stoppedAs } : {}),
      ...(this.#lastAnswer && this.#saveFailure === undefined ? { fork_point: this.#lastAnswer } : {}),
    })
  }

  /** Builds the last event only after everything has stopped, so that its duration includes the stop. */
  async #prompt(): Promise<() => NewEvent> {
    const { prepared, query } = this.#options
    const { blocks } = prepared.prompt
    const account = this.lostId === undefined ? undefined : query.account
    const content = account === undefined ? blocks : [{ type: 'text' as const, text: account }, ...blocks]
    const { signal } = this.#stop
    const maxUsd = query.maxBudgetUsd ?? Number.POSITIVE_INFINITY
    try {
      const mayGoOn = () => this.#meter.budgetedUsd < maxUsd
      const { transcript, unfinished } = this.#conversation
      // While it is asked again, the message waits: another kill must not lose it.
      if (unfinished.waiting !== undefined) transcript.note({ said: content })
      const result = await this.#loop.prompt(content, { signal, mayGoOn, unfinished })
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
          const id = this.#conversation.transcript.append(message)
          this.#lastAnswer = message.role === 'assistant' ? id : undefined
        } catch (error) {
          this.#saveFailure = error
        }
      },
    }
  }

  #facts(): ResultFacts {
    return {
      durationMs: Math.round(performance.now() - this.#startedAt),
      numTurns: this.#requests,
      spending: this.#meter.spending,
      expectsJson: this.#options.query.outputSchema !== undefined,
    }
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
    const { lostId } = this
    return {
      type: 'system',
      subtype: 'init',
      // For readers of the log: the missing conversation, and the content that was not shown.
      ...(lostId === undefined ? {} : { lost_session_id: lostId }),
      ...(query.includePartialMessages === false ? { include_partial_messages: false } : {}),
      cwd: query.cwd,
      model: prepared.loop.model,
      tools: this.#toolbox.tools.map(({ name }) => name),
      permissionMode: prepared.toolbox.policy.mode,
      apiKeySource: prepared.loop.apiKey ? 'ANTHROPIC_API_KEY' : 'ANTHROPIC_AUTH_TOKEN',
    }
  }
}
