import {
  HarnessError,
  type HarnessId,
  type HarnessQuery,
  type PermissionMode,
  type ThinkingLevel,
} from '@chirality/core'
import type { AgentName } from '../../turn/turn-program.ts'
import {
  CLAUDE_CODE,
  CLAUDE_THINKING,
  type ClaudeArgFiles,
  type ClaudeCodeHarnessConfig,
  settingSources,
  telemetryEnv,
} from '../config.ts'
import {
  type ClaudeFeatures,
  HOOK_EVENTS_FLAG,
  SNAPSHOT_FLAG,
  unsupportedChoice,
  unsupportedFlag,
} from '../install/features.ts'

export interface ClaudeArgInput {
  query: HarnessQuery
  config: ClaudeCodeHarnessConfig
  files: ClaudeArgFiles
  inputFormat: 'text' | 'stream-json'
  /** The features of the binary that gets the arguments. */
  features: ClaudeFeatures
  /** The name that errors mention. */
  agent?: AgentName
  /** Further flags of the caller, passed on unchanged. */
  extraArgs?: string[]
}

/**
 * The complete command line of a turn without the prompt, which goes through stdin: argv is limited in size, logged and
 * readable by other users. A flag is set only if it changes something. Throws a HarnessError for an option that this
 * binary, or every binary, rejects.
 */
export function buildClaudeArgs(input: ClaudeArgInput): string[] {
  const { query, config, files, features, agent = CLAUDE_CODE } = input
  const check = new FieldChecks(agent.harnessId)
  const args = ['-p', '--output-format', 'stream-json', '--verbose']
  if (input.inputFormat === 'stream-json') args.push('--input-format', 'stream-json')
  if (query.includePartialMessages !== false) args.push('--include-partial-messages')
  if (features.knowsFlag(HOOK_EVENTS_FLAG)) args.push(HOOK_EVENTS_FLAG)
  args.push('--setting-sources', settingSources(query, config).join(','))

  if (query.model) args.push('--model', check.word('model', query.model))
  if (query.fallbackModel) args.push('--fallback-model', check.word('fallbackModel', query.fallbackModel))
  if (query.thinking) args.push(...thinkingArgs(query.thinking, features))
  if (query.maxTurns !== undefined && query.maxTurns !== null)
    args.push('--max-turns', String(check.positiveInteger('maxTurns', query.maxTurns)))
  if (query.maxBudgetUsd !== undefined)
    args.push('--max-budget-usd', String(check.positive('maxBudgetUsd', query.maxBudgetUsd)))
  if (query.outputSchema) args.push('--json-schema', JSON.stringify(query.outputSchema))

  args.push(...sessionArgs(query, check), ...permissionArgs(query, check), ...systemPromptArgs(input))

  if (files.mcpConfig) args.push('--mcp-config', files.mcpConfig)
  if (files.mcpConfig && !query.keepOwnMcpServers) args.push('--strict-mcp-config')
  for (const directory of directories(query, config))
    args.push('--add-dir', check.word('additionalDirectories', directory))
  const unknown = args.find(word => word.startsWith('--') && !features.knowsFlag(word))
  if (unknown) throw unsupportedFlag(unknown, features, agent)
  args.push(...(input.extraArgs ?? []))
  return args
}

/** Variables a turn sets on top of the filtered environment. */
export function buildClaudeEnv(query: HarnessQuery, config: ClaudeCodeHarnessConfig): Record<string, string> {
  return { ...telemetryEnv(config), ...subagentEnv(query, config), ...query.env }
}

/**
 * Without the settings of its folder the agent would not read the CLAUDE.md there either. From an extra folder it reads
 * only CLAUDE.md and the rules, and nothing that runs code: no settings, servers, commands, skills, agents or plugins.
 */
export function directories(query: HarnessQuery, config: ClaudeCodeHarnessConfig): string[] {
  const extra = query.additionalDirectories ?? []
  return readsOnlyTexts(query, config) ? [query.cwd, ...extra] : extra
}

/** The agent reads the texts of extra folders only if this variable is set. */
export function textsEnv(query: HarnessQuery, config: ClaudeCodeHarnessConfig): Record<string, string> {
  return readsOnlyTexts(query, config) ? { CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: '1' } : {}
}

function readsOnlyTexts(
  { trustProject }: HarnessQuery,
  { settingSources }: ClaudeCodeHarnessConfig,
): boolean {
  return settingSources === undefined && trustProject !== true
}

/** The variables that follow from the model. */
export function subagentEnv(
  query: Pick<HarnessQuery, 'model' | 'fallbackModel'>,
  { forceSubagentModel }: ClaudeCodeHarnessConfig,
): Record<string, string> {
  return forceSubagentModel === false ? {} : subagentModelEnv(query)
}

/** Both flags are set, because older models know only a number of tokens and newer ones only the word. */
function thinkingArgs(thinking: ThinkingLevel, features: ClaudeFeatures): string[] {
  const { effort, tokens } = CLAUDE_THINKING[thinking]
  return [
    ...(features.knowsFlag('--effort') ? ['--effort', effort] : []),
    '--max-thinking-tokens',
    String(tokens),
  ]
}

/** Throws for an effort or a permission mode that this binary does not have: it would go on with another. */
export function checkChoices(query: HarnessQuery, features: ClaudeFeatures, agent: AgentName): void {
  const { thinking } = query
  const isNew = thinking === 'xhigh' || thinking === 'max'
  if (isNew && !(features.knowsFlag('--effort') && features.knowsChoice('--effort', thinking)))
    throw unsupportedChoice(`effort ${thinking}`, features, agent)
  if (thinking === 'ultracode' && !features.knowsUltracode)
    throw unsupportedChoice('effort ultracode', features, agent)
  checkMode(permissionModeOf(query), features, agent)
}

export function checkMode(mode: PermissionMode, features: ClaudeFeatures, agent: AgentName): void {
  if (mode === 'auto' && !features.knowsChoice('--permission-mode', mode))
    throw unsupportedChoice(`permission mode ${mode}`, features, agent)
}

function sessionArgs(query: HarnessQuery, check: FieldChecks): string[] {
  const { resumeSessionId, forkSession, forkAt, continueLast, newSessionId } = query
  if (forkAt !== undefined && !forkSession)
    throw check.invalid('forkAt needs forkSession: the conversation itself is not cut.')
  if (forkSession && !resumeSessionId) {
    throw check.invalid('forkSession needs resumeSessionId: say which conversation to fork.')
  }
  if (newSessionId && !forkSession && (resumeSessionId || continueLast)) {
    throw check.invalid(
      'newSessionId is for a new conversation; this one is continued. Fork it, or leave the id out.',
    )
  }
  const args: string[] = []
  if (resumeSessionId) args.push('--resume', check.word('resumeSessionId', resumeSessionId))
  else if (continueLast) args.push('--continue')
  if (forkSession) args.push('--fork-session')
  if (forkAt !== undefined) args.push('--resume-session-at', check.uuid('forkAt', forkAt))
  if (newSessionId) args.push('--session-id', check.uuid('newSessionId', newSessionId))
  return args
}

function permissionArgs(query: HarnessQuery, check: FieldChecks): string[] {
  const args: string[] = []
  const mode = permissionModeOf(query)
  if (mode === 'bypassPermissions') args.push('--dangerously-skip-permissions')
  else args.push('--permission-mode', mode)
  if (query.tools !== undefined && query.tools !== ALL_TOOLS)
    args.push('--tools', query.tools === '' ? '' : check.word('tools', query.tools))
  // These flags take every argument up to the next flag, so none of them may precede a positional argument.
  const allowed = check.words('allowedTools', query.allowedTools)
  if (allowed.length > 0) args.push('--allowedTools', ...allowed)
  const denied = check.words('disallowedTools', query.disallowedTools)
  if (denied.length > 0) args.push('--disallowedTools', ...denied)
  return args
}

/** The agent's own default. */
export const ALL_TOOLS = 'default'

export function permissionModeOf({ permissionMode, mode }: HarnessQuery): PermissionMode {
  return permissionMode ?? PERMISSION_MODES[mode]
}

const PERMISSION_MODES = {
  'read-only': 'plan',
  'workspace-write': 'acceptEdits',
  yolo: 'bypassPermissions',
} as const

function systemPromptArgs({ query, files, features }: ClaudeArgInput): string[] {
  const args: string[] = []
  if (files.systemPrompt) args.push('--system-prompt-file', files.systemPrompt)
  if (files.appendSystemPrompt) args.push('--append-system-prompt-file', files.appendSystemPrompt)
  const continues = query.resumeSessionId !== undefined || query.continueLast === true
  if (args.length > 0 && continues && features.knowsFlag(SNAPSHOT_FLAG)) args.push(SNAPSHOT_FLAG, 'off')
  return args
}

/**
 * The `DEFAULT` variables say what the aliases mean, so only a full name may go there: an alias would reach the API as
 * if it were a model. `default` is an alias only for `--model`. A fallback that is an alias has to keep its meaning.
 */
function subagentModelEnv({
  model,
  fallbackModel,
}: Pick<HarnessQuery, 'model' | 'fallbackModel'>): Record<string, string> {
  if (!model || model === 'default') return {}
  const env = { CLAUDE_CODE_SUBAGENT_MODEL: model }
  if (isAlias(model) || (fallbackModel && isAlias(fallbackModel))) return env
  return {
    ...env,
    ANTHROPIC_DEFAULT_OPUS_MODEL: model,
    ANTHROPIC_DEFAULT_SONNET_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
  }
}

/** Full names have a number in them; the one in `sonnet[1m]` is not part of the name. */
function isAlias(model: string): boolean {
  return !/\d/.test(model.replace(/\[\w+\]$/, ''))
}

/** Checks for the fields of a query that go into argv. Each throws a HarnessError that names the field. */
class FieldChecks {
  readonly #harnessId: HarnessId

  constructor(harnessId: HarnessId) {
    this.#harnessId = harnessId
  }

  /** Checks a value that stands alone in argv: a value that begins with a dash would be parsed as a flag. */
  word(field: string, value: string): string {
    if (value === '' || value.startsWith('-') || value.includes('\0')) {
      const said = JSON.stringify(value)
      throw this.invalid(`${field} is ${said}: it must not be empty, begin with "-" or hold a NUL.`)
    }
    return value
  }

  words(field: string, values: readonly string[] | undefined): string[] {
    return (values ?? []).map(value => this.word(field, value))
  }

  uuid(field: string, value: string): string {
    if (!UUID.test(value)) throw this.invalid(`${field} is ${JSON.stringify(value)}: it must be a UUID.`)
    return value
  }

  positiveInteger(field: string, value: number): number {
    if (!Number.isInteger(value) || value < 1)
      throw this.invalid(`${field} is ${value}: it must be a whole number above 0.`)
    return value
  }

  positive(field: string, value: number): number {
    if (!Number.isFinite(value) || value <= 0)
      throw this.invalid(`${field} is ${value}: it must be a number above 0.`)
    return value
  }

  invalid(message: string): HarnessError {
    return new HarnessError(message, 'invalid_query', this.#harnessId)
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
