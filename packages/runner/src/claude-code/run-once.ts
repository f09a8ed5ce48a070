import type { HarnessQuery } from '@chirality/core'
import { listClaudeSessions } from '../native-sessions/claude-code/list.ts'
import { type ClaudeContext, PLAIN_VARIANT } from './config.ts'
import { queryClaude } from './query.ts'
import { ClaudeRunError } from './run-error.ts'
import { type ClaudeResponse, RunSummary, type RunSummaryOptions } from './run-summary.ts'

export type { ClaudeResponse } from './run-summary.ts'

export interface ClaudeRequest {
  /** Where the agent works; the raw log goes below it. */
  cwd: string
  prompt: HarnessQuery['prompt']
  systemPrompt?: string
  appendSystemPrompt?: string
  /** Tools that run without asking. */
  allowedTools?: string[]
  /** Which tools exist for the agent: names, `default`, or an empty string for none. */
  tools?: string
  /** Tools that are taken away. */
  disallowedTools?: string[]
  /** Names the raw log, `<mode>-<task>` say. */
  label?: string
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

/**
 * One prompt, one full answer. Throws a ClaudeRunError, which names the raw log, when there is no answer to return. An agent that
 * crashes before it has said or done anything is started once more; what it did is never repeated.
 */
export async function runClaudeOnce(
  request: ClaudeRequest,
  context: RunOnceContext,
): Promise<ClaudeResponse> {
  const continues = await continuedId(request, context)
  const first = await attempt(request, context, { attempts: 1, continues })
  const { answer } = first.mayRepeat ? await attempt(request, context, { attempts: 2, continues }) : first
  if (answer instanceof Error) throw answer
  return answer
}

interface Attempt {
  answer: ClaudeResponse | ClaudeRunError
  /** It crashed, and nothing was said, done or paid for. */
  mayRepeat: boolean
}

async function attempt(
  request: ClaudeRequest,
  context: RunOnceContext,
  facts: Pick<RunSummaryOptions, 'attempts' | 'continues'>,
): Promise<Attempt> {
  const { ask = queryClaude, variant = PLAIN_VARIANT } = context
  const { harnessId } = variant.agent
  const signal = request.signal ?? new AbortController().signal
  // Ends the agent at the first denial, so that it spends no more.
  const denied = new AbortController()
  const summary = new RunSummary({ failOnDenial: request.failOnDenial ?? false, harnessId, ...facts })
  const query = queryOf(request, AbortSignal.any([signal, denied.signal]))
  const { extraArgs, label } = request
  const onSpool = (path: string) => summary.logIsAt(path)
  for await (const event of ask(query, { ...context, extraArgs, label, onSpool })) {
    summary.see(event)
    if (summary.isDenied) denied.abort()
  }
  try {
    return { answer: summary.response(signal), mayRepeat: false }
  } catch (error) {
    if (!(error instanceof ClaudeRunError)) throw error
    const mayRepeat = error.code === 'process_crashed' && !summary.hasBegun && !signal.aborted
    return { answer: error, mayRepeat }
  }
}

function queryOf(request: ClaudeRequest, signal: AbortSignal): HarnessQuery {
  return {
    cwd: request.cwd,
    prompt: request.prompt,
    systemPrompt: request.systemPrompt,
    appendSystemPrompt: request.appendSystemPrompt,
    tools: request.tools,
    allowedTools: request.allowedTools,
    disallowedTools: request.disallowedTools,
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
    signal,
  }
}

/** The conversation that the run is to go on with; null when it is to begin one, or there is none. */
async function continuedId(
  { cwd, continue: continues, resumeSessionId, env }: ClaudeRequest,
  { environment }: RunOnceContext,
): Promise<string | null> {
  if (resumeSessionId !== undefined || !continues) return resumeSessionId ?? null
  const options = { cwd, limit: 1, environment: { ...environment, ...env } }
  const [newest] = await listClaudeSessions(options).catch(() => [])
  return newest?.nativeSessionId ?? null
}
