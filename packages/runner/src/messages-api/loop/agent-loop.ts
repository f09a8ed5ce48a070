import type { UsageInfo } from '@chirality/core'
import { type Answer, addUsage } from '../api/answer.ts'
import { ApiError } from '../api/api-error.ts'
import { checkEndpoint } from '../api/endpoint.ts'
import type { ContentBlock, Message, ModelStop, ToolResultBlock } from '../api/messages.ts'
import { BrokenAnswer } from '../api/stream-answer.ts'
import { askAnswer } from './ask-answer.ts'
import { type Config, DEFAULT_LOOP_TURNS, DEFAULT_MODEL, DEFAULT_TOOL_GRACE_MS } from './config.ts'
import { type EventHandler, SafeHandler } from './event-handler.ts'
import {
  askedAgain,
  History,
  lostResult,
  notBegun,
  openCalls,
  type PromptContent,
  type UnfinishedCalls,
} from './history.ts'
import { type CalledTools, callsOf, type RunToolsOptions, runTools } from './run-tools.ts'
import type { Tool } from './tool.ts'

export interface PromptResult {
  /** The model's stop reason, or the limit that ended the loop. */
  reason: ModelStop | 'max_turns' | 'stopped'
  text: string
  /** The number of answered requests. */
  turns: number
  /** The sum over all answers. */
  usage: UsageInfo
  /** Errors that the event handler threw. */
  handlerErrors: readonly unknown[]
}

export interface PromptOptions {
  signal?: AbortSignal
  /** What a process that was killed left open: the call that waited for an answer is asked about again. */
  unfinished?: UnfinishedCalls
  /** Called after an answer with tool calls, when the tools have run; false ends the loop. */
  mayGoOn?(answer: Answer): boolean
}

/** A conversation with a model that calls tools. Independent of files, processes and sessions. */
export class AgentLoop {
  readonly #config: Config
  readonly #tools: readonly Tool[]
  readonly #handler: SafeHandler
  readonly #history: History
  #model: string
  #running: AbortController | null = null
  readonly #added: PromptContent[] = []
  #isResting = false

  constructor(config: Config, tools: readonly Tool[] = [], handler?: EventHandler) {
    checkEndpoint(config)
    this.#config = config
    this.#tools = [...tools]
    this.#handler = new SafeHandler(handler ?? {})
    this.#history = new History(config.history, message => this.#handler.call('onMessage', message))
    this.#model = config.model ?? DEFAULT_MODEL
  }

  /** A frozen copy. */
  get history(): readonly Message[] {
    return this.#history.messages
  }

  get isRunning(): boolean {
    return this.#running !== null
  }

  /**
   * Runs until the model makes no more calls or reaches a limit. Rejects with an ApiError, with the signal's reason
   * after a cancel, or when a prompt is already running. The next prompt continues the conversation.
   */
  async prompt(content: PromptContent, options: PromptOptions = {}): Promise<PromptResult> {
    if (this.#running) throw new Error('A prompt is running already. Wait for it, or cancel it.')
    const running = new AbortController()
    const { signal } = options
    const onAbort = () => running.abort(signal?.reason)
    this.#running = running
    this.#isResting = false
    this.#handler.forgetErrors()
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      if (signal?.aborted) onAbort()
      // A process that died during a call left the call without a result.
      const results = await this.#finish(running.signal, options.unfinished)
      // One message, which is written as one line: a kill between two of them would lose the rest.
      this.#addUser([...results, ...blocksOf(options.unfinished?.said ?? [])], [content])
      return await this.#run(running.signal, options)
    } finally {
      signal?.removeEventListener('abort', onAbort)
      // Added messages are kept when the prompt fails: the model receives them with the next prompt.
      this.#addUser([], this.#added.splice(0))
      this.#running = null
    }
  }

  /** Does nothing when no prompt is running. */
  cancel(): void {
    this.#running?.abort(new DOMException('The prompt was cancelled.', 'AbortError'))
  }

  /**
   * Gives the model another message, with the next tool results or when it finishes. False when no prompt is running.
   */
  add(content: PromptContent): boolean {
    if (!this.#running || this.#isResting || this.#running.signal.aborted) return false
    this.#added.push(content)
    return true
  }

  async #run(signal: AbortSignal, { mayGoOn }: PromptOptions): Promise<PromptResult> {
    let usage: UsageInfo = { input_tokens: 0, output_tokens: 0 }
    for (let turns = 1; ; turns += 1) {
      const answer = await this.#ask(signal)
      usage = addUsage(usage, answer.usage)
      const goesOn = (await this.#settle(answer, signal)) || this.#takeAdded(answer)
      const limit = goesOn ? this.#limitReached(turns, mayGoOn?.(answer) ?? true) : undefined
      if (goesOn && limit === undefined) continue
      // From here on `add` returns false.
      this.#isResting = true
      const reason = limit ?? answer.stopReason ?? 'end_turn'
      return { reason, text: textOf(answer), turns, usage, handlerErrors: this.#handler.errors }
    }
  }

  /** Results of the calls that a killed process left. Only the one that waited for an answer runs, if it is allowed now. */
  async #finish(signal: AbortSignal, { waiting }: Partial<UnfinishedCalls> = {}): Promise<ToolResultBlock[]> {
    const calls = openCalls(this.history)
    const at = calls.findIndex(({ id }) => id === waiting)
    const results = calls.map(({ id }, index) => (at >= 0 && index > at ? notBegun(id) : lostResult(id)))
    const call = calls[at]
    if (call === undefined) return results
    // To readers it is a call of this turn: the other one ended with its turn.
    const again = { ...call, id: askedAgain(call.id) }
    this.#handler.call('onCallAgain', again)
    const answer: CalledTools = { content: [again], stopReason: 'tool_use', badInputs: new Map() }
    const [result] = await runTools(answer, this.#toolOptions(signal, { mustAsk: true }))
    if (result !== undefined) results[at] = { ...result, tool_use_id: call.id }
    return results
  }

  #toolOptions(signal: AbortSignal, { mustAsk = false } = {}): RunToolsOptions {
    return {
      tools: this.#tools,
      signal,
      mustAsk,
      graceMs: this.#config.toolGraceMs ?? DEFAULT_TOOL_GRACE_MS,
      onResult: ({ tool_use_id, content, is_error = false }, detail) =>
        this.#handler.call('onToolResult', tool_use_id, content, is_error, detail),
    }
  }

  #limitReached(turns: number, mayGoOn: boolean): 'stopped' | 'max_turns' | undefined {
    if (!mayGoOn) return 'stopped'
    return turns >= (this.#config.maxTurns ?? DEFAULT_LOOP_TURNS) ? 'max_turns' : undefined
  }

  /** Adds the answer and its tool results to the conversation. True when the model must continue. */
  async #settle(answer: Answer, signal: AbortSignal): Promise<boolean> {
    this.#history.append('assistant', answer.content)
    if (callsOf(answer).length > 0) {
      const results = await runTools(answer, this.#toolOptions(signal))
      this.#addUser(results, this.#added.splice(0))
      signal.throwIfAborted()
      return !isDeadEnd(answer)
    }
    return answer.stopReason === 'pause_turn'
  }

  /** Adds the messages that arrived while the model wrote its final answer. */
  #takeAdded(answer: Answer): boolean {
    if (this.#added.length === 0 || isDeadEnd(answer)) return false
    this.#addUser([], this.#added.splice(0))
    return true
  }

  async #ask(signal: AbortSignal): Promise<Answer> {
    try {
      return await this.#askOnce(signal)
    } catch (error) {
      const to = this.#config.fallbackModel
      if (!to || to === this.#model || !isOverloaded(error)) throw this.#afterBreak(error)
      this.#handler.call('onFallback', this.#model, to)
      this.#model = to
    }
    return await this.#askOnce(signal).catch((error: unknown) => {
      throw this.#afterBreak(error)
    })
  }

  #askOnce(signal: AbortSignal): Promise<Answer> {
    const tools = this.#tools
    const messages = this.history
    return askAnswer({
      config: this.#config,
      model: this.#model,
      tools,
      messages,
      handler: this.#handler,
      signal,
    })
  }

  /** The visible part of a stopped answer stays in the conversation, without its calls, which never ran. */
  #afterBreak(error: unknown): unknown {
    if (!(error instanceof BrokenAnswer)) return error
    if (!(error.cause instanceof ApiError)) {
      this.#history.append(
        'assistant',
        error.said.filter(({ type }) => type === 'text'),
      )
    }
    return error.cause
  }

  /** The contents are new messages, after blocks that readers know or need not know. */
  #addUser(before: readonly ContentBlock[], contents: readonly PromptContent[]): void {
    this.#history.append('user', [...before, ...blocksOf(contents)])
    for (const content of contents) this.#handler.call('onUser', content)
  }
}

function blocksOf(contents: readonly PromptContent[]): ContentBlock[] {
  return contents.flatMap((content): readonly ContentBlock[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  )
}

function isOverloaded(error: unknown): boolean {
  const cause = error instanceof BrokenAnswer ? error.cause : error
  return cause instanceof ApiError && cause.isPassing && cause.status !== 429
}

/** A repeated request would end the same way. */
function isDeadEnd({ stopReason }: Answer): boolean {
  return stopReason === 'refusal' || stopReason === 'model_context_window_exceeded'
}

function textOf({ content }: Answer): string {
  return content.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('')
}
