import type { ClaudeEvent, ClaudePermissionDenial, HarnessQuery, UsageInfo } from '@chirality/core'
import { createClaudeTranslator, HarnessError } from '@chirality/core'
import { HARNESS_ID } from './config.ts'
import type { InvocationContext } from './invocation.ts'
import { queryClaude } from './query.ts'

export interface ClaudeRequest {
  /** Where the agent works; the raw log goes below it. */
  cwd: string
  prompt: HarnessQuery['prompt']
  systemPrompt?: string
  appendSystemPrompt?: string
  /** Tools that run without asking. */
  allowedTools?: string[]
  /** Continue the newest conversation of `cwd`. */
  continue?: boolean
  resumeSessionId?: string
  env?: Record<string, string>
  model?: string
  maxTurns?: number
  maxBudgetUsd?: number
  /** Default `dontAsk`: what is not allowed is denied, and nothing waits for a person. */
  permissionMode?: HarnessQuery['permissionMode']
  signal?: AbortSignal
}

export interface ClaudeResponse {
  sessionId: string | null
  model: string | null
  version: string | null
  finalText: string
  /** All assistant text of the main conversation in order. */
  streamText: string
  /** True when there was no final text and `finalText` is what was streamed. */
  degraded: boolean
  usage: UsageInfo
  totalCostUsd: number
  permissionDenials: ClaudePermissionDenial[]
  rawEventsPath: string
}

/** One prompt, one full answer. Throws a HarnessError, which names the raw log, when there is no answer to return. */
export async function runClaudeOnce(
  request: ClaudeRequest,
  context: InvocationContext,
): Promise<ClaudeResponse> {
  const signal = request.signal ?? new AbortController().signal
  const seen = new Seen()
  const query: HarnessQuery = {
    cwd: request.cwd,
    prompt: request.prompt,
    systemPrompt: request.systemPrompt,
    appendSystemPrompt: request.appendSystemPrompt,
    allowedTools: request.allowedTools,
    continueLast: request.continue,
    resumeSessionId: request.resumeSessionId,
    env: request.env,
    model: request.model,
    maxTurns: request.maxTurns,
    maxBudgetUsd: request.maxBudgetUsd,
    mode: 'read-only',
    permissionMode: request.permissionMode ?? 'dontAsk',
    includePartialMessages: false,
    signal,
  }
  const events = queryClaude(query, { ...context, onSpool: path => seen.spool(path) })
  for await (const event of events) {
    if (event.type === 'message') seen.message(event.message)
    if (event.type === 'error') seen.failed(event.error, event.code)
  }
  return seen.response(signal)
}

/** What a run has shown so far. */
class Seen {
  private readonly translator = createClaudeTranslator({ sessionId: '' })
  private readonly texts: string[] = []
  private rawEventsPath = ''
  private model: string | null = null
  private version: string | null = null
  private failure: { error: string; code?: HarnessError['code'] } | null = null

  spool(path: string): void {
    this.rawEventsPath = path
  }

  failed(error: string, code: HarnessError['code'] | undefined): void {
    this.failure = { error, code }
  }

  message(event: ClaudeEvent): void {
    for (const shown of this.translator.translate(event)) {
      if (shown.type === 'session:init') {
        this.model = shown.model
        this.version = shown.version ?? null
      } else if (shown.type === 'chat:message' && shown.parentToolUseId === undefined && !shown.discarded) {
        this.texts.push(shown.text)
      }
    }
  }

  response(signal: AbortSignal): ClaudeResponse {
    const { outcome } = this.translator
    const streamText = this.texts.join('\n\n')
    const at = `The raw log is ${this.rawEventsPath}.`
    if (signal.aborted) {
      const timedOut = signal.reason?.name === 'TimeoutError'
      const what = timedOut ? 'The run took longer than allowed.' : 'The run was stopped.'
      throw new HarnessError(`${what} ${at}`, timedOut ? 'timeout' : 'aborted', HARNESS_ID)
    }
    if (this.failure)
      throw new HarnessError(`${this.failure.error} ${at}`, this.failure.code ?? 'unknown', HARNESS_ID)
    const finalText = outcome?.finalText ?? ''
    if (!outcome || (finalText === '' && streamText === '')) {
      throw new HarnessError(`Claude Code gave no answer. ${at}`, 'unknown', HARNESS_ID)
    }
    return {
      sessionId: this.translator.nativeSessionId,
      model: this.model,
      version: this.version,
      finalText: finalText || streamText,
      streamText,
      degraded: finalText === '',
      usage: outcome.usage,
      totalCostUsd: outcome.costUsd,
      permissionDenials: outcome.permissionDenials,
      rawEventsPath: this.rawEventsPath,
    }
  }
}
