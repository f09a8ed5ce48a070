import type { HarnessQuery } from '@chirality/core'
import type { ClaudeArgFiles, ClaudeVariant, Launch } from '../claude-code/config.ts'
import { CLAUDE_THINKING, settingSources } from '../claude-code/config.ts'
import { type ClaudeFeatures, HOOK_EVENTS_FLAG } from '../claude-code/install/features.ts'
import { directories, permissionModeOf } from '../claude-code/launch/args.ts'
import { refuseTooOld } from '../turn/agent-version.ts'
import { AGENT_SDK, type AgentSdkHarnessConfig, findAgentSdk } from './config.ts'
import { SDK_VERSIONS } from './descriptor.ts'
import { HOOK_NAMES, type HookName, type StartRequest } from './protocol/worker-messages.ts'
import { block } from './runtime/decision-mapper.ts'
import { isDecided } from './runtime/event-translator.ts'
import { type CageKeeper, startSdkAgent } from './sdk-agent.ts'

/** Claude Code, started by the SDK. */
export function sdkVariant(config: AgentSdkHarnessConfig): ClaudeVariant {
  return {
    agent: AGENT_SDK,
    registersGuard: true,
    version: () => {
      const { version } = findAgentSdk(config.sdkPath)
      return { version, versions: SDK_VERSIONS, name: AGENT_SDK.name }
    },
    start: async (launch, spool, signal) => {
      try {
        const start = await startRequest(inside(launch), config)
        return await startSdkAgent({ start, keeper: keeperOf(launch), spool, config, signal })
      } catch (error) {
        await spool.discard()
        throw error
      }
    },
  }
}

/** The SDK gets the agent's program and environment as they are in the cage, with placeholders for keys. */
function inside(launch: Launch): Launch {
  const { cage } = launch
  return cage === undefined ? launch : { ...launch, command: cage.command, env: cage.env }
}

function keeperOf({ command, args, env, cage }: Launch): CageKeeper | undefined {
  return cage === undefined ? undefined : { command, args, env, cage }
}

async function startRequest(launch: Launch, config: AgentSdkHarnessConfig): Promise<StartRequest> {
  const names = config.onRuntimeEvent ? HOOK_NAMES : []
  const hooks = names.map(hookName => ({ hookName, refusal: refusalOf(hookName) }))
  const { url: sdkUrl, version } = findAgentSdk(config.sdkPath)
  refuseTooOld(version, SDK_VERSIONS, AGENT_SDK)
  return {
    sdkUrl,
    options: sdkOptions({ ...launch, config }),
    hooks,
    blockOnHookFailure:
      (hooks.length > 0 || launch.guard !== undefined) && launch.features.blocksOnHookFailure,
    ...(launch.guard ? { guardRefusal: refusalOf('PreToolUse') } : {}),
  }
}

/** A hook without a decision cannot be refused: the agent would show the refusal as an error. */
function refusalOf(hookName: HookName): Record<string, unknown> {
  return isDecided(hookName) ? block(hookName, 'The request was withdrawn.') : {}
}

export interface SdkOptionsInput {
  query: HarnessQuery
  config: AgentSdkHarnessConfig
  /** The agent's whole environment; the SDK adds nothing to it. */
  env: Record<string, string>
  /** The path of `claude`. */
  command: string
  files: ClaudeArgFiles
  /** The features of that `claude`. */
  features: ClaudeFeatures
}

/** The options of the SDK for a query, limited to values that can be copied to a Worker. */
export function sdkOptions(input: SdkOptionsInput): Record<string, unknown> {
  const { query, config, env, command, files, features } = input
  const { resumeSessionId, tools, outputSchema } = query
  const permissionMode = permissionModeOf(query)
  return present({
    cwd: query.cwd,
    env,
    pathToClaudeCodeExecutable: command,
    includePartialMessages: query.includePartialMessages !== false,
    includeHookEvents: features.knowsFlag(HOOK_EVENTS_FLAG) || undefined,
    // Without this option the SDK would read all settings, including those of an untrusted project.
    settingSources: settingSources(query, config),
    systemPrompt: systemPrompt(query),
    model: query.model,
    fallbackModel: query.fallbackModel,
    ...thinkingOptions(query.thinking),
    permissionMode,
    allowDangerouslySkipPermissions: permissionMode === 'bypassPermissions' ? true : undefined,
    tools: toolNames(tools),
    allowedTools: query.allowedTools,
    disallowedTools: query.disallowedTools,
    maxTurns: query.maxTurns ?? undefined,
    maxBudgetUsd: query.maxBudgetUsd,
    additionalDirectories: directories(query, config),
    resume: resumeSessionId,
    continue: query.continueLast,
    forkSession: query.forkSession,
    resumeSessionAt: query.forkAt,
    sessionId: query.newSessionId,
    outputFormat: outputSchema && { type: 'json_schema', schema: outputSchema },
    extraArgs: extraArgs(files, query),
  })
}

/** Without this option the agent has no system prompt. */
function systemPrompt({ systemPrompt, appendSystemPrompt }: HarnessQuery): unknown {
  if (systemPrompt) return appendSystemPrompt ? `${systemPrompt}\n\n${appendSystemPrompt}` : systemPrompt
  // `snapshot: false`: an edited persona applies from the next turn on.
  const append = appendSystemPrompt ? { append: appendSystemPrompt, snapshot: false } : {}
  return { type: 'preset', preset: 'claude_code', ...append }
}

function thinkingOptions(thinking: HarnessQuery['thinking']): Record<string, unknown> {
  if (thinking === undefined) return {}
  const { effort, tokens } = CLAUDE_THINKING[thinking]
  return { effort, maxThinkingTokens: tokens }
}

/** A file, because the SDK would put the servers with their tokens into the command line, which every user can read. */
function extraArgs(
  { mcpConfig }: ClaudeArgFiles,
  { keepOwnMcpServers }: HarnessQuery,
): Record<string, string | null> {
  if (mcpConfig === undefined) return ALWAYS
  const only: Record<string, null> = keepOwnMcpServers ? {} : { 'strict-mcp-config': null }
  return { ...ALWAYS, 'mcp-config': mcpConfig, ...only }
}

/** The agent then reports when it starts to process a message. */
const ALWAYS = { 'replay-user-messages': null }

function toolNames(tools: string | undefined): unknown {
  if (tools === undefined || tools === 'default') return undefined
  return tools.split(',').flatMap(name => name.trim() || [])
}

function present(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
