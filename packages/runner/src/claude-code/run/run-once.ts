import { randomUUID } from 'node:crypto'
import type { HarnessQuery, UIEvent } from '@chirality/core'
import { anySignal } from '../../common/any-signal.ts'
import { realOrGiven } from '../../common/real-path.ts'
import { type ClaudeContext, PLAIN_VARIANT } from '../config.ts'
import { listClaudeSessions } from '../native-sessions/list.ts'
import { queryClaude } from './query.ts'
import { ClaudeRunError, type RunEntry } from './run-account.ts'
import { type ClaudeResponse, type RunAnswer, RunSummary, type RunSummaryOptions } from './run-summary.ts'

export type { ClaudeResponse } from './run-summary.ts'

export interface ClaudeRequest {
  /** The agent's working folder; the raw log goes below it. */
  cwd: string
  prompt: HarnessQuery['prompt']
  systemPrompt?: string
  appendSystemPrompt?: string
  /** Tools that run without asking. */
  allowedTools?: string[]
  /** The tools that the agent has: names, `default`, or an empty string for none. */
  tools?: string
  /** Tools that are removed. */
  disallowedTools?: string[]
  /** Names the raw log, for example `<mode>-<task>`. */
  label?: string
  /**
   * The purpose of the run, for example `planner` or `coder`: `state/claude-session.json` stores its conversation under
   * this key. Default `run`.
   */
  role?: string
  /** Resumes the newest conversation of `cwd`. */
  continue?: boolean
  resumeSessionId?: string
  /** Further flags for the CLI, passed on unchanged. */
  extraArgs?: string[]
  env?: Record<string, string>
  /** As in a query: hooks and MCP servers of the folder may run. */
  trustProject?: boolean
  model?: string
  maxTurns?: number
  maxBudgetUsd?: number
  /** Default `dontAsk`: a tool that is not allowed is denied, and no permission request waits for a person. */
  permissionMode?: HarnessQuery['permissionMode']
  /** A denied tool ends the run with an error. Default false: denials are listed in the answer. */
  failOnDenial?: boolean
  signal?: AbortSignal
}

export interface RunOnceContext extends ClaudeContext {
  /** How the query is run. Default: in a process of its own. */
  ask?: typeof queryClaude
}

/**
 * Runs one prompt and returns the full answer. Throws a ClaudeRunError, which names the raw log, if there is no answer.
 * An agent that crashes before its first message or tool call is started once more; work is never repeated.
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
  const place = sharedPlaces.enter(workFolder(request))
  try {
    let last = await attempt(request, context, { attempts: 1, continues, entry })
    if (last.mayRepeat) last = await attempt(request, context, { attempts: 2, continues, entry })
    nativeSessionId = last.nativeSessionId
    if (last.answer instanceof Error) throw last.answer
    return { ...last.answer, sharedWith: place.others }
  } finally {
    place.leave()
    await entry?.end(nativeSessionId)
  }
}

/** Null if the caller's flags give the agent a worktree of its own. */
function workFolder({ extraArgs, cwd }: ClaudeRequest): string | null {
  return extraArgs?.some(arg => /^(-w|--worktree)(=|$)/.test(arg)) ? null : cwd
}

/** The runs of this process at work, by their folder. */
class SharedPlaces {
  readonly #runs = new Map<string, Set<{ others: number }>>()

  enter(folder: string | null): { readonly others: number; leave(): void } {
    const own = { others: 0, leave: () => {} }
    if (folder === null) return own
    const key = realOrGiven(folder)
    const here = this.#runs.get(key) ?? new Set()
    this.#runs.set(key, here)
    for (const run of here) run.others += 1
    own.others = here.size
    here.add(own)
    own.leave = () => {
      here.delete(own)
      if (here.size === 0) this.#runs.delete(key)
    }
    return own
  }
}

const sharedPlaces = new SharedPlaces()

interface Attempt {
  answer: RunAnswer | ClaudeRunError
  /** The agent crashed before any message, tool call or cost. */
  mayRepeat: boolean
  /** The id of the conversation that it began or resumed. */
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
  // Stops the agent at the first denial, and when a budget is used up, so that it spends no more.
  const enough = new AbortController()
  const failOnDenial = request.failOnDenial ?? false
  const onShown = entry && ((event: UIEvent) => entry.note(event))
  const cwd = workFolder(request)
  const summary = new RunSummary({ failOnDenial, harnessId, cwd, onShown, ...facts })
  const query = {
    ...queryOf(request, anySignal([signal, enough.signal])),
    // The cost of each answer comes only with partial messages; without them it would be known only at the end.
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

/** The id of the conversation to resume; null if the run begins one, or there is none. */
async function continuedId(
  { cwd, continue: continues, resumeSessionId, env }: ClaudeRequest,
  { environment }: RunOnceContext,
): Promise<string | null> {
  if (resumeSessionId !== undefined || !continues) return resumeSessionId ?? null
  const options = { cwd, limit: 1, environment: { ...environment, ...env } }
  const [newest] = await listClaudeSessions(options).catch(() => [])
  return newest?.nativeSessionId ?? null
}
