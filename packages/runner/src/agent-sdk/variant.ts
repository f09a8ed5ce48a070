import type { HarnessQuery } from '@chirality/core'
import type { ClaudeArgFiles, ClaudeVariant, Launch } from '../claude-code/config.ts'
import { directories, permissionModeOf, settingSources } from '../claude-code/launch/args.ts'
import { refuseTooOld } from '../turn/agent-version.ts'
import { AGENT_SDK, type AgentSdkHarnessConfig, findAgentSdk } from './config.ts'
import { SDK_VERSIONS } from './descriptor.ts'
import { HOOK_NAMES, type HookName, type StartRequest } from './protocol/worker-messages.ts'
import { block } from './runtime/decision-mapper.ts'
import { isDecided } from './runtime/event-translator.ts'
import { startSdkAgent } from './sdk-agent.ts'

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
        return await startSdkAgent({ start: await startRequest(launch, config), spool, config, signal })
      } catch (error) {
        await spool.discard()
        throw error
      }
    },
  }
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

/** A hook that only tells cannot be refused: the agent would show that as an error. */
function refusalOf(hookName: HookName): Record<string, unknown> {
  return isDecided(hookName) ? block(hookName, 'The request was withdrawn.') : {}
}

export interface SdkOptionsInput {
  query: HarnessQuery
  config: AgentSdkHarnessConfig
  /** The whole environment of the agent: the SDK adds nothing of ours to it. */
  env: Record<string, string>
  /** Of `claude`, which is looked for as everywhere else. */
  command: string
  files: ClaudeArgFiles
}

/** A query as options of the SDK, those that can be copied into a Worker. */
export function sdkOptions({ query, config, env, command, files }: SdkOptionsInput): Record<string, unknown> {
  const { resumeSessionId, tools, outputSchema } = query
  const permissionMode = permissionModeOf(query)
  return present({
    cwd: query.cwd,
    env,
    pathToClaudeCodeExecutable: command,
    includePartialMessages: query.includePartialMessages !== false,
    // Left out, the SDK would read all of them, and so what a stranger put into the project.
    settingSources: settingSources(query, config),
    systemPrompt: systemPrompt(query),
    model: query.model,
    fallbackModel: query.fallbackModel,
    ...(query.thinking ? THINKING[query.thinking] : {}),
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
    extraArgs: extraArgs(files),
  })
}

/** Without it the agent has no system prompt at all. */
function systemPrompt({ systemPrompt, appendSystemPrompt }: HarnessQuery): unknown {
  if (systemPrompt) return appendSystemPrompt ? `${systemPrompt}\n\n${appendSystemPrompt}` : systemPrompt
  // Not recorded: a persona that was edited meanwhile counts from the next turn on.
  const append = appendSystemPrompt ? { append: appendSystemPrompt, snapshot: false } : {}
  return { type: 'preset', preset: 'claude_code', ...append }
}

const THINKING = {
  low: { effort: 'low', maxThinkingTokens: 3000 },
  med: { effort: 'medium', maxThinkingTokens: 5000 },
  high: { effort: 'high', maxThinkingTokens: 10_000 },
} as const

/** The SDK would put the servers, tokens and all, into the command line that every user can read. */
function extraArgs({ mcpConfig }: ClaudeArgFiles): Record<string, string | null> {
  const servers: Record<string, string | null> =
    mcpConfig === undefined ? {} : { 'mcp-config': mcpConfig, 'strict-mcp-config': null }
  return { ...ALWAYS, ...servers }
}

/** Tells when the agent takes a message up. */
const ALWAYS = { 'replay-user-messages': null }

function toolNames(tools: string | undefined): unknown {
  if (tools === undefined || tools === 'default') return undefined
  return tools.split(',').flatMap(name => name.trim() || [])
}

function present(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
