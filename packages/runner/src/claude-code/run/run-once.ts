import { randomUUID } from 'node:crypto'
import type { HarnessQuery, UIEvent } from '@chirality/core'
import { type ClaudeContext, PLAIN_VARIANT } from '../config.ts'
import { listClaudeSessions } from '../native-sessions/list.ts'
import { queryClaude } from './query.ts'
import { ClaudeRunError, type RunEntry } from './run-account.ts'
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
  /** What the run is for, `planner` or `coder` say: `state/claude-session.json` has its conversation under this. Default `run`. */
  role?: string
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
  const { cwd, model, role = 'run' } = request
  const { config, variant = PLAIN_VARIANT } = context
  const { harnessId } = variant.agent
  const continues = await continuedId(request, context)
  const entry = await config.account?.begin({ runId: randomUUID(), cwd, harnessId, model, role })
  let nativeSessionId: string | null = null
  try {
    let last = await attempt(request, context, { attempts: 1, continues, entry })
    if (last.mayRepeat) last = await attempt(request, context, { attempts: 2, continues, entry })
    nativeSessionId = last.nativeSessionId
    if (last.answer instanceof Error) throw last.answer
    return last.answer
  } finally {
    await entry?.end(nativeSessionId)
  }
}

interface Attempt {
  answer: ClaudeResponse | ClaudeRunError
  /** It crashed, and nothing was said, done or paid for. */
  mayRepeat: boolean
  /** Of the conversation that it began, or went on with. */
  nativeSessionId: string | null
}

async function attempt(
  request: ClaudeRequest,
  context: RunOnceContext,
  { entry, ...facts }: Pick<RunSummaryOptions, 'attempts' | 'continues'> & { entry: RunEntry | undefined },
): Promise<Attempt> {
  const { ask = queryClaude, variant = PLAIN_VARIANT } = context
  const { harnessId } = variant.agent
  const signal = request.signal ?? new AbortController().signal
  // Ends the agent at the first denial, and when a budget is used up, so that it spends no more.
  const enough = new AbortController()
  const failOnDenial = request.failOnDenial ?? false
  const onShown = entry && ((event: UIEvent) => entry.note(event))
  const cwd = request.extraArgs?.some(arg => /^(-w|--worktree)(=|$)/.test(arg)) ? null : request.cwd
  const summary = new RunSummary({ failOnDenial, harnessId, cwd, onShown, ...facts })
  const query = {
    ...queryOf(request, AbortSignal.any([signal, enough.signal])),
    // What each answer cost is told only with its pieces; without them a budget would be known at the end.
    includePartialMessages: entry !== undefined,
  }
  const { extraArgs, label } = request
  const isKept = context.config.rawLogs !== 'off'
  const onSpool = (path: string) => (isKept ? summary.logIsAt(path) : undefined)
  for await (const event of ask(query, { ...context, extraArgs, label, onSpool })) {
    summary.see(event)
    if (summary.isDenied || summary.isOverBudget || summary.isElsewhere) enough.abort()
  }
  const { nativeSessionId } = summary
  try {
    return { answer: summary.response(signal), mayRepeat: false, nativeSessionId }
  } catch (error) {
    if (!(error instanceof ClaudeRunError)) throw error
    const mayRepeat = error.code === 'process_crashed' && !summary.hasBegun && !signal.aborted
    return { answer: error, mayRepeat, nativeSessionId }
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
