import { type GuardRule, HarnessError, type HarnessQuery } from '@chirality/core'
import { buildChildEnv } from '../../env/child-env.ts'
import { serveClientTools } from '../../tool-server/serve-client-tools.ts'
import { refuseTooOld } from '../../turn/agent-version.ts'
import { checkDirectory, startFailure } from '../../turn/start-failure.ts'
import type { AgentName, Invocation } from '../../turn/turn-program.ts'
import { cageClaude } from '../cage.ts'
import { type ClaudeAgentName, type ClaudeContext, type Launch, PLAIN_VARIANT } from '../config.ts'
import { CLAUDE_ENVIRONMENT, CLAUDE_VERSIONS } from '../descriptor.ts'
import { findClaude } from '../install/executable.ts'
import { type ClaudeFeatures, claudeFeatures } from '../install/features.ts'
import { buildClaudeArgs, buildClaudeEnv, checkChoices, textsEnv } from './args.ts'
import { encodePrompt } from './prompt.ts'
import { writeTempFiles } from './temp-files.ts'

export interface InvocationContext extends ClaudeContext {
  extraArgs?: string[]
  /** The rules of the guard that checks each tool call. */
  guardRules?: readonly GuardRule[] | undefined
}

/** Checks the query, finds the binary and writes the files. If it throws a HarnessError, no file is left. */
export async function prepareClaude(query: HarnessQuery, context: InvocationContext): Promise<Invocation> {
  try {
    return await prepare(query, context)
  } catch (error) {
    throw startFailure(error, agentOf(context))
  }
}

async function prepare(query: HarnessQuery, context: InvocationContext): Promise<Invocation> {
  const {
    inputFormat,
    stdin,
    text: promptText,
    attachments,
  } = await encodePrompt(query.prompt, agentOf(context))
  const launch = await prepareLaunch(query, context, inputFormat)
  const { command, args, env, cwd, cage, features, cleanup } = launch
  const { version } = features
  return { command, args, env, cwd, cage, cleanup, stdin, promptText, attachments, version }
}

/** The command without a prompt: prompts go through stdin, once or repeatedly. */
export async function prepareLaunch(
  query: HarnessQuery,
  context: InvocationContext,
  inputFormat: 'text' | 'stream-json',
): Promise<Launch> {
  const { config, environment, extraArgs, guardRules } = context
  const agent = agentOf(context)
  const { harnessId } = agent
  await checkDirectory('The project folder', query.cwd, harnessId)
  for (const directory of query.additionalDirectories ?? [])
    await checkDirectory('The extra folder', directory, harnessId)
  const command = await findClaude({ binaryPath: config.binaryPath, environment, agent })
  const { env } = buildChildEnv({
    source: environment,
    own: CLAUDE_ENVIRONMENT,
    allow: config.allowEnvironment,
    extra: { ...textsEnv(query, config), ...buildClaudeEnv(query, config) },
  })
  refuseRootBypass(query, env, agent)
  const features = await claudeFeatures(command, env, { signal: query.signal, dataFolder: config.dataFolder })
  refuseTooOld(features.version, CLAUDE_VERSIONS, { harnessId, name: 'Claude Code' })
  checkChoices(query, features, agent)
  const denials = features.blocksOnHookFailure ? [] : ownDenials(guardRules, features, agent)
  const cleanups: (() => Promise<void>)[] = []
  const cleanup = async () => void (await Promise.all(cleanups.map(clean => clean())))
  try {
    const { mcpServers, toolNames, stop } = await serveClientTools(query, harnessId)
    cleanups.push(stop)
    const served: HarnessQuery = {
      ...query,
      mcpServers,
      allowedTools: [...(query.allowedTools ?? []), ...toolNames],
      ...(denials.length > 0 ? { disallowedTools: [...(query.disallowedTools ?? []), ...denials] } : {}),
    }
    const { files, remove } = await writeTempFiles(served, environment, harnessId)
    cleanups.push(remove)
    const args = buildClaudeArgs({
      query: served,
      config,
      files,
      inputFormat,
      features,
      agent,
      extraArgs,
    })
    const launch: Launch = { command, args, env, cwd: query.cwd, query: served, files, features, cleanup }
    if (query.cage === undefined || query.cage === 'off') return launch
    const { remove: removeCage, ...caged } = await cageClaude({ launch, context, level: query.cage })
    cleanups.push(removeCage)
    return { ...launch, ...caged }
  } catch (error) {
    await cleanup()
    throw error
  }
}

function agentOf({ variant = PLAIN_VARIANT }: ClaudeContext): ClaudeAgentName {
  return variant.agent
}

/** The CLI would only exit with a line on stderr; this error also says what to do. */
function refuseRootBypass(query: HarnessQuery, env: Record<string, string>, agent: AgentName): void {
  const bypass = query.permissionMode ? query.permissionMode === 'bypassPermissions' : query.mode === 'yolo'
  if (!bypass || process.getuid?.() !== 0 || env.IS_SANDBOX === '1') return
  throw new HarnessError(
    'Claude Code refuses to skip permissions as root. Run as another user, or set IS_SANDBOX=1 inside a container.',
    'invalid_query',
    agent.harnessId,
  )
}

/**
 * The guard's deny rules as denied tools of Claude Code itself. A release without the option to block on a failing hook
 * lets a call pass if the hook is late or its host has exited; with these rules the user's deny rules still hold. A
 * rule that cannot be expressed exactly is expressed more widely. Throws for a rule that cannot be expressed at all.
 */
export function ownDenials(
  rules: readonly GuardRule[] | undefined,
  { version }: ClaudeFeatures,
  agent: AgentName,
): string[] {
  return (rules ?? []).flatMap(rule => {
    if (rule.effect !== 'deny') return []
    const denied = ownDenial(rule)
    if (denied !== undefined) return [denied]
    const text = rule.pattern === undefined ? rule.tool : `${rule.tool}(${rule.pattern})`
    const which = version === undefined ? 'This Claude Code' : `Claude Code ${version}`
    const message = `${which} runs a tool when the hook that guards it fails, and cannot be told "deny ${text}" as a rule of its own. ${CLAUDE_VERSIONS.update}`
    throw new HarnessError(message, 'unsupported', agent.harnessId)
  })
}

function ownDenial({ tool, pattern }: GuardRule): string | undefined {
  // Claude Code's rules cannot name the arguments of a server's tool; a whole server is denied by its name alone.
  if (/^mcp__[^*]+$/.test(tool)) return tool
  const server = /^(mcp__(?:(?!__)[^*])+)__\*$/.exec(tool)?.[1]
  if (server !== undefined) return server
  const name = NAMES.get(tool.toLowerCase()) ?? tool
  if (name.includes('*')) return undefined
  if (pattern === undefined || /^\**$/.test(pattern.trim())) return name
  const kind = KINDS.get(name)
  if (kind === 'command') return `${name}(${pattern.trim()})`
  // A file rule is denied as Read or Edit, whichever the tool does; an absolute path begins with two slashes.
  if (kind === 'Read' || kind === 'Edit') return `${kind}(${pattern.trim().replace(/^\/+/, '//')})`
  return name
}

const KINDS: ReadonlyMap<string, 'command' | 'Read' | 'Edit'> = new Map([
  ['Bash', 'command'],
  ...(['Read', 'Glob', 'Grep', 'LS', 'NotebookRead'] as const).map(name => [name, 'Read'] as const),
  ...(['Edit', 'Write', 'MultiEdit', 'NotebookEdit'] as const).map(name => [name, 'Edit'] as const),
])
/** Rules match a tool name in any case, and by the names that other agents use. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ...[...KINDS.keys(), 'WebFetch', 'WebSearch', 'Task'].map(name => [name.toLowerCase(), name] as const),
  ['command', 'Bash'],
  ['list', 'LS'],
  ['file_change', 'Edit'],
  ['web_search', 'WebSearch'],
])
