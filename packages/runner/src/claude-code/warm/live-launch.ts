import type { ClientToolDefinition, Guard, HarnessQuery, PermissionMode } from '@chirality/core'
import type { AgentLaunch, AgentLease, KeptAgents } from '../../turn/kept-agents.ts'
import { startFailure } from '../../turn/start-failure.ts'
import type { AgentName } from '../../turn/turn-program.ts'
import { type ClaudeCodeHarnessConfig, type ClaudeContext, PLAIN_VARIANT } from '../config.ts'
import { checkMode, subagentEnv } from '../launch/args.ts'
import { prepareLaunch } from '../launch/invocation.ts'
import { ControlError } from './control-channel.ts'
import { GuardHook } from './guard-hook.ts'
import { LiveClaude, type LiveClaudeOptions } from './live-claude.ts'

/** Identifies the process of a session: each session has its own. */
export interface LiveLaunch extends AgentLaunch<LiveClaude> {
  readonly query: HarnessQuery
  /** All options that cannot change while the process runs. */
  readonly settings: string
  readonly tools: RelayedTools
}

/** Keeps one process for each session. */
export type LivePool = KeptAgents<LiveClaude, LiveLaunch>
export type LiveLease = AgentLease<LiveClaude>

export interface LiveLaunchOptions extends Pick<LiveClaudeOptions, 'sessionId' | 'turnId' | 'onStderr'> {
  context: ClaudeContext
  /**
   * Someone can answer permission requests. Otherwise tools that are not allowed are denied, and the agent is started
   * in that mode.
   */
  asks: boolean
  guard: Guard | undefined
}

export function liveLaunch(query: HarnessQuery, options: LiveLaunchOptions): LiveLaunch {
  const { context, asks, guard, ...names } = options
  const tools = new RelayedTools(query.clientTools)
  const { config, variant = PLAIN_VARIANT } = context
  const settings = settingsOf(query, {
    asks,
    isGuarded: guard !== undefined,
    rules: guard?.rules?.map(({ effect, tool, pattern }) => [effect, tool, pattern]),
  })
  return {
    key: names.sessionId,
    query,
    settings,
    // The agent counts the cost of the whole process, but the limit is for one turn.
    isShortLived: query.maxBudgetUsd !== undefined,
    tools,
    accepts: async (live, startedWith) => {
      if (startedWith.settings !== settings || !isSameConversation(live, startedWith.query, query))
        return false
      startedWith.tools.use(query.clientTools)
      if (guard) live.launch.guard?.use(guard)
      return adjust(live, query, { config, agent: variant.agent })
    },
    start: async signal => {
      const extraArgs = ['--replay-user-messages', ...(asks ? ['--permission-prompt-tool', 'stdio'] : [])]
      const relayed = { ...query, clientTools: tools.definitions, signal }
      try {
        const prepared = await prepareLaunch(
          relayed,
          { ...context, extraArgs, guardRules: guard?.rules },
          'stream-json',
        )
        const launch = guard ? { ...prepared, guard: new GuardHook(guard) } : prepared
        const { model, permissionMode: mode } = query
        return await LiveClaude.start({ launch, config, variant, model, mode, signal, ...names })
      } catch (error) {
        throw startFailure(error, variant.agent)
      }
    },
  }
}

/** Leaves out model and permission mode, which can be set, and the conversation, which is compared. */
function settingsOf(query: HarnessQuery, talks: object): string {
  const { prompt, signal, model, permissionMode, mode, clientTools, ...rest } = query
  const { resumeSessionId, forkSession, forkAt, account, newSessionId, continueLast, ...fixed } = rest
  const tools = clientTools?.map(({ handler, ...definition }) => definition)
  return JSON.stringify([fixed, tools, talks, isBypass(query)], sortedKeys)
}

function isBypass({ permissionMode, mode }: HarnessQuery): boolean {
  return permissionMode ? permissionMode === 'bypassPermissions' : mode === 'yolo'
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/**
 * The conversation of the process is the one it reported last; before its first report it is the one it was started
 * with.
 */
function isSameConversation(live: LiveClaude, started: HarnessQuery, query: HarnessQuery): boolean {
  const { nativeSessionId } = live.translator
  if (nativeSessionId !== null) return query.resumeSessionId === nativeSessionId && !query.forkSession
  return (
    started.resumeSessionId === query.resumeSessionId &&
    started.newSessionId === query.newSessionId &&
    Boolean(started.forkSession) === Boolean(query.forkSession) &&
    started.forkAt === query.forkAt
  )
}

/** The process keeps the tools of the turn it was started for; each call goes to the handler of the running turn. */
class RelayedTools {
  readonly definitions: ClientToolDefinition[] | undefined
  #handlers: ReadonlyMap<string, ClientToolDefinition['handler']> = new Map()

  constructor(tools: ClientToolDefinition[] | undefined) {
    this.use(tools)
    this.definitions = tools?.map(tool => ({
      ...tool,
      handler: async (args, context) => {
        const handler = this.#handlers.get(tool.name)
        return handler ? handler(args, context) : { error: `${tool.name} is not there any more.` }
      },
    }))
  }

  use(tools: ClientToolDefinition[] | undefined): void {
    this.#handlers = new Map(tools?.map(({ name, handler }) => [name, handler]))
  }
}

/**
 * Sets the options that can change while the agent runs. False if this agent cannot be changed so and another is
 * needed.
 */
async function adjust(
  live: LiveClaude,
  query: HarnessQuery,
  { config, agent }: { config: ClaudeCodeHarnessConfig; agent: AgentName },
): Promise<boolean> {
  try {
    if (!isBypass(query) && query.permissionMode) await setMode(live, query.permissionMode, agent)
    return await setModel(live, query, config)
  } catch (error) {
    if (!(error instanceof ControlError)) throw error
    if (error.isGone) await live.giveUp()
    return false
  }
}

/** 2.1.197 accepts any word as a mode, so it is checked here. */
export async function setMode(live: LiveClaude, mode: PermissionMode, agent: AgentName): Promise<void> {
  if (live.mode === mode) return
  checkMode(mode, live.launch.features, agent)
  await live.request({ subtype: 'set_permission_mode', mode })
}

/** A query without a model leaves the model unchanged, as a resumed conversation does. */
async function setModel(
  live: LiveClaude,
  { model, fallbackModel }: HarnessQuery,
  config: ClaudeCodeHarnessConfig,
): Promise<boolean> {
  if (model === undefined || model === live.model) return true
  const before = subagentEnv({ model: live.model, fallbackModel }, config)
  const env = subagentEnv({ model, fallbackModel }, config)
  // A variable can be changed in a running agent, but not removed.
  if (Object.keys(before).some(name => !(name in env))) return false
  await live.request({ subtype: 'set_model', model })
  if (Object.keys(env).length > 0) await live.request({ subtype: 'apply_flag_settings', settings: { env } })
  live.model = model
  return true
}
