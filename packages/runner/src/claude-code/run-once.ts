import type { HarnessQuery } from '@chirality/core'
import { type ClaudeContext, PLAIN_VARIANT } from './config.ts'
import { queryClaude } from './query.ts'
import { type ClaudeResponse, RunSummary } from './run-summary.ts'

export type { ClaudeResponse } from './run-summary.ts'

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
  /** More flags for the CLI, as they are. */
  extraArgs?: string[]
  env?: Record<string, string>
  /** As in a query: what the folder brings along may run. */
  trustProject?: boolean
  model?: string
  maxTurns?: number
  maxBudgetUsd?: number
  /** Default `dontAsk`: what is not allowed is denied, and nothing waits for a person. */
  permissionMode?: HarnessQuery['permissionMode']
  /** A denied tool ends the run as an error. Default false: denials are in the answer. */
  failOnDenial?: boolean
  signal?: AbortSignal
}

export interface RunOnceContext extends ClaudeContext {
  /** How the agent is asked. Default: in a process of its own. */
  ask?: typeof queryClaude
}

/** One prompt, one full answer. Throws a ClaudeRunError, which names the raw log, when there is no answer to return. */
export async function runClaudeOnce(
  request: ClaudeRequest,
  context: RunOnceContext,
): Promise<ClaudeResponse> {
  const { ask = queryClaude, variant = PLAIN_VARIANT } = context
  const { harnessId } = variant.agent
  const signal = request.signal ?? new AbortController().signal
  // Ends the agent at the first denial, so that it spends no more.
  const denied = new AbortController()
  const summary = new RunSummary({ failOnDenial: request.failOnDenial ?? false, harnessId })
  const query: HarnessQuery = {
    cwd: request.cwd,
    prompt: request.prompt,
    systemPrompt: request.systemPrompt,
    appendSystemPrompt: request.appendSystemPrompt,
    allowedTools: request.allowedTools,
    continueLast: request.continue,
    resumeSessionId: request.resumeSessionId,
    env: request.env,
    trustProject: request.trustProject,
    model: request.model,
    maxTurns: request.maxTurns,
    maxBudgetUsd: request.maxBudgetUsd,
    mode: 'read-only',
    permissionMode: request.permissionMode ?? 'dontAsk',
    includePartialMessages: false,
    signal: AbortSignal.any([signal, denied.signal]),
  }
  const { extraArgs } = request
  const onSpool = (path: string) => summary.logIsAt(path)
  for await (const event of ask(query, { ...context, extraArgs, onSpool })) {
    summary.see(event)
    if (summary.isDenied) denied.abort()
  }
  return summary.response(signal)
}
