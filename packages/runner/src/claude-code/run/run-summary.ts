import { realpathSync } from 'node:fs'
import {
  type ClaudeEvent,
  type ClaudePermissionDenial,
  createClaudeTranslator,
  type HarnessErrorCode,
  type HarnessEvent,
  type HarnessId,
  sumUsage,
  type UIEvent,
  type UsageInfo,
} from '@chirality/core'
import { ClaudeRunError } from './run-account.ts'

/** The full answer of one run. */
export interface ClaudeResponse {
  sessionId: string | null
  model: string | null
  version: string | null
  finalText: string
  /** All assistant text of the main conversation in order. */
  streamText: string
  /** True if there was no final text and `finalText` is the streamed text. */
  degraded: boolean
  usage: UsageInfo
  totalCostUsd: number
  permissionDenials: ClaudePermissionDenial[]
  /** The agent's own count; null if it reports none. */
  durationMs: number | null
  numTurns: number | null
  /** The agent's working folder, tools and mode, as it reports them. */
  cwd: string | null
  tools: string[]
  permissionMode: string | null
  /** The conversation that the run was to resume; null if there was none. */
  continuedFrom: string | null
  /** The run was to resume a conversation, but the agent began another: the caller has to store the new id. */
  forked: boolean
  /** 2 if the first agent crashed before it printed anything. */
  attempts: number
  /** Empty if raw logs are off. */
  rawEventsPath: string
  /** How many other runs of this process worked in the same folder meanwhile: none keeps their changes apart. */
  sharedWith: number
}

/** What the agent's own output tells of a run. */
export type RunAnswer = Omit<ClaudeResponse, 'sharedWith'>

export interface RunSummaryOptions {
  /** The name that errors mention. */
  harnessId: HarnessId
  failOnDenial: boolean
  /** The required working folder; null if the caller's flags choose another one. */
  cwd: string | null
  attempts: number
  continues: string | null
  /** Reads the agent's events; returns the reason to stop, once a budget is used up. */
  onShown?: ((event: UIEvent) => string | undefined) | undefined
}

/** The state of a run so far. */
export class RunSummary {
  readonly #options: RunSummaryOptions
  readonly #translator = createClaudeTranslator({ sessionId: '' })
  readonly #texts: string[] = []
  readonly #denials = new Map<string, ClaudePermissionDenial>()
  #usage: UsageInfo = { input_tokens: 0, output_tokens: 0 }
  #totalCostUsd = 0
  #rawEventsPath = ''
  #init: (UIEvent & { type: 'session:init' }) | null = null
  #durationMs: number | null = null
  #numTurns: number | null = null
  #hasBegun = false
  #overBudget: string | undefined
  #failure: { error: string; code: HarnessErrorCode } | null = null

  constructor(options: RunSummaryOptions) {
    this.#options = options
  }

  /** A tool was denied, and the caller wants that to be an error. */
  get isDenied(): boolean {
    return this.#options.failOnDenial && this.#denials.size > 0
  }

  /** The agent reports another working folder than the requested one: its changes would be made in the wrong place. */
  get isElsewhere(): boolean {
    const { cwd } = this.#options
    return cwd !== null && this.#init?.cwd !== undefined && realPath(this.#init.cwd) !== realPath(cwd)
  }

  get isOverBudget(): boolean {
    return this.#overBudget !== undefined
  }

  get nativeSessionId(): string | null {
    return this.#translator.nativeSessionId
  }

  /** The agent wrote a message or called a tool. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  logIsAt(path: string): void {
    this.#rawEventsPath = path
  }

  see(event: HarnessEvent<ClaudeEvent>): void {
    switch (event.type) {
      case 'message':
        this.#seeMessage(event.message)
        break
      case 'error':
        this.#failure = { error: event.error, code: event.code ?? 'unknown' }
        break
      case 'complete':
        // A background task can bring a second result, and the last one counts.
        this.#failure = null
    }
  }

  response(signal: AbortSignal): RunAnswer {
    const { outcome } = this.#translator
    const streamText = this.#texts.join('\n\n')
    const finalText = outcome?.finalText ?? ''
    this.#throwIfFailed(signal)
    if (!outcome || (finalText === '' && streamText === ''))
      throw this.#error('Claude Code gave no answer.', 'unknown')
    const { attempts, continues } = this.#options
    const sessionId = this.#translator.nativeSessionId
    return {
      sessionId,
      model: this.#init?.model ?? null,
      version: this.#init?.version ?? null,
      cwd: this.#init?.cwd ?? null,
      tools: this.#init?.tools ?? [],
      permissionMode: this.#init?.permissionMode ?? null,
      durationMs: this.#durationMs,
      numTurns: this.#numTurns,
      continuedFrom: continues,
      forked: continues !== null && sessionId !== continues,
      attempts,
      finalText: finalText || streamText,
      streamText,
      degraded: finalText === '',
      usage: this.#usage,
      totalCostUsd: this.#totalCostUsd,
      permissionDenials: [...this.#denials.values()],
      rawEventsPath: this.#rawEventsPath,
    }
  }

  #throwIfFailed(signal: AbortSignal): void {
    if (this.isElsewhere) {
      const message = `The agent works in ${this.#init?.cwd}, and was told to work in ${this.#options.cwd}. It was stopped.`
      throw this.#error(message, 'invalid_query')
    }
    if (this.isDenied) {
      const tools = new Set([...this.#denials.values()].map(denial => denial.tool_name))
      throw this.#error(`The agent was not allowed to use ${[...tools].join(', ')}.`, 'unknown')
    }
    if (this.#overBudget !== undefined && this.#translator.outcome?.reason !== 'completed')
      throw this.#error(this.#overBudget, 'budget_exceeded')
    // An abort after the answer changes nothing.
    if (signal.aborted && this.#translator.outcome?.reason !== 'completed') {
      throw signal.reason?.name === 'TimeoutError'
        ? this.#error('The run took longer than allowed.', 'timeout')
        : this.#error('The run was stopped.', 'aborted')
    }
    if (this.#failure) throw this.#error(this.#failure.error, this.#failure.code)
  }

  #error(message: string, code: HarnessErrorCode): ClaudeRunError {
    const permissionDenials = [...this.#denials.values()]
    return new ClaudeRunError(message, code, {
      rawEventsPath: this.#rawEventsPath,
      permissionDenials,
      harnessId: this.#options.harnessId,
    })
  }

  #seeMessage(event: ClaudeEvent): void {
    for (const shown of this.#translator.translate(event)) this.#seeShown(shown)
    if (event.type === 'system' && event.subtype === 'permission_denied') {
      const { tool_name, tool_use_id } = event
      this.#addDenials([{ tool_name, tool_use_id }])
    }
    if (event.type === 'result') this.#addResult()
  }

  #seeShown(event: UIEvent): void {
    this.#overBudget ??= this.#options.onShown?.(event)
    if (event.type === 'session:init') this.#init = event
    this.#hasBegun ||= event.type === 'chat:message' || event.type === 'tool:start'
    if (event.type === 'chat:message' && event.parentToolUseId === undefined && !event.discarded)
      this.#texts.push(event.text)
  }

  /** An outcome describes one result; a run can have several. */
  #addResult(): void {
    const { outcome } = this.#translator
    if (!outcome) return
    this.#totalCostUsd += outcome.costUsd
    this.#usage = sumUsage(this.#usage, outcome.usage)
    if (outcome.durationMs !== undefined) this.#durationMs = (this.#durationMs ?? 0) + outcome.durationMs
    if (outcome.numTurns !== undefined) this.#numTurns = (this.#numTurns ?? 0) + outcome.numTurns
    this.#addDenials(outcome.permissionDenials)
  }

  #addDenials(denials: ClaudePermissionDenial[]): void {
    for (const denial of denials) {
      this.#denials.set(denial.tool_use_id ?? `#${this.#denials.size}`, denial)
    }
  }
}

function realPath(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return folder
  }
}
