import {
  type ClientToolDefinition,
  DEFAULT_MAX_TURNS,
  HarnessError,
  type HarnessQuery,
  type PermissionMode,
  type PriceTable,
} from '@chirality/core'
import { buildChildEnv, isAgentVariable } from '../../env/child-env.ts'
import { withMcpSdk } from '../../tool-server/mcp-sdk.ts'
import { checkDirectory } from '../../turn/start-failure.ts'
import type { MessagesApiContext } from '../config.ts'
import { type PromptBlocks, promptBlocks } from '../conversation/prompt-blocks.ts'
import { endpointOf } from '../credentials.ts'
import { MESSAGES_API_ID } from '../descriptor.ts'
import type { Config } from '../loop/config.ts'
import { Policy } from '../permissions/policy.ts'
import type { BuiltInTool } from '../tools/built-in-tool.ts'
import { Workspace } from '../tools/files/workspace.ts'
import type { ToolboxParts } from './toolbox.ts'

/** The validated inputs of a turn. */
export interface PreparedRun {
  prompt: PromptBlocks
  loop: Config & { model: string }
  toolbox: ToolboxParts
  prices: PriceTable | undefined
}

/** Throws a HarnessError before anything starts. */
export async function prepareRun(query: HarnessQuery, context: MessagesApiContext): Promise<PreparedRun> {
  const { config, environment } = context
  refuseUnsupported(query)
  const prompt = await promptBlocks(query.prompt)
  await checkDirectory('The project folder', query.cwd, MESSAGES_API_ID)
  for (const folder of query.additionalDirectories ?? []) {
    await checkDirectory('The additional folder', folder, MESSAGES_API_ID)
  }
  const endpoint = endpointOf(environment, query.env)
  const model = query.model ?? DEFAULT_HARNESS_MODEL
  const policy = new Policy({
    mode: permissionModeOf(query),
    allowed: query.allowedTools,
    disallowed: query.disallowedTools,
  })
  const workspace = await Workspace.open(query.cwd, query.additionalDirectories)
  workspace.isHidden = file => policy.hidesFile(file)
  const maxTokens = config.maxTokens ?? maxTokensOf(model)
  return {
    prompt,
    prices: typeof config.prices === 'function' ? config.prices() : config.prices,
    toolbox: {
      query,
      workspace,
      clientTools: await clientTools([...(config.clientTools ?? []), ...(query.clientTools ?? [])]),
      policy,
      env: commandEnv(query, context),
      stop: config.stop,
    },
    loop: {
      ...endpoint,
      model,
      maxTokens,
      maxTurns: query.maxTurns === null ? Number.POSITIVE_INFINITY : (query.maxTurns ?? DEFAULT_MAX_TURNS),
      fallbackModel: query.fallbackModel,
      maxRetries: config.maxRetries,
      promptCaching: config.promptCaching,
      // Built-in tools obey the signal: a stopped command returns its output after its stop sequence.
      toolGraceMs: 15_000,
      extraBody: extraFields(query, model, maxTokens),
    },
  }
}

/** `permissionMode` takes precedence over `mode`. A query cannot ask, so only what needs no question is allowed. */
function permissionModeOf({ mode, permissionMode }: HarnessQuery): PermissionMode {
  return permissionMode ?? BY_MODE[mode]
}

const BY_MODE: Record<HarnessQuery['mode'], PermissionMode> = {
  'read-only': 'plan',
  'workspace-write': 'acceptEdits',
  yolo: 'bypassPermissions',
}

/** Commands never receive the API key, not even the one that a turn brings. */
function commandEnv(
  { env = {} }: HarnessQuery,
  { config, environment }: MessagesApiContext,
): Record<string, string> {
  const extra = Object.fromEntries(Object.entries(env).filter(([name]) => !isAgentVariable(name)))
  return buildChildEnv({ source: environment, extra, allow: config.allowEnvironment }).env
}

function extraFields(query: HarnessQuery, model: string, maxTokens: number): Record<string, unknown> {
  const fields = thinkingFields(model, query.thinking, maxTokens)
  if (query.outputSchema === undefined) return fields
  const format = { type: 'json_schema', schema: query.outputSchema }
  return { ...fields, output_config: { ...(fields.output_config ?? {}), format } }
}

function refuseUnsupported({ mcpServers, continueLast, forkAt, forkSession }: HarnessQuery): void {
  const refuse = (message: string) => new HarnessError(message, 'unsupported', MESSAGES_API_ID)
  if (mcpServers && Object.keys(mcpServers).length > 0) {
    throw refuse('mcpServers: this harness has no MCP client. Use clientTools.')
  }
  if (forkAt !== undefined && !forkSession)
    throw refuse('forkAt needs forkSession: the conversation itself is not cut.')
  if (continueLast) throw refuse('continueLast: name the conversation with resumeSessionId.')
}

/** The host's tools, under the same names as for every agent, called directly in this process. */
export async function clientTools(definitions: readonly ClientToolDefinition[]): Promise<BuiltInTool[]> {
  if (definitions.length === 0) return []
  const [{ prepareTools }, { callTool }, { TOOL_SERVER_NAME }] = await withMcpSdk(
    () =>
      Promise.all([
        import('../../tool-server/prepare-tools.ts'),
        import('../../tool-server/call-tool.ts'),
        import('../../tool-server/index.ts'),
      ]),
    MESSAGES_API_ID,
  )
  const { byName } = prepareTools(definitions, MESSAGES_API_ID)
  return definitions.flatMap(({ name, description, inputSchema, readOnly }) => {
    const prepared = byName.get(name)
    if (prepared === undefined) return []
    return {
      name: `mcp__${TOOL_SERVER_NAME}__${name}`,
      description,
      inputSchema,
      effect: readOnly ? 'read' : 'client',
      subject: () => undefined,
      checksInput: true,
      execute: async (input, { signal }) => {
        const { content, isError } = await callTool(prepared, input, { ...LIMITS, signal })
        const texts = content.flatMap(part => (part.type === 'text' ? [part.text] : []))
        return { content: texts.join('\n'), isError: isError === true }
      },
    }
  })
}

const LIMITS = { deadlineMs: 10 * 60_000, maxResultBytes: 256 * 1024 }

const DEFAULT_HARNESS_MODEL = 'claude-sonnet-5-5'

/** Enough for a whole file in one answer, where the model supports it. */
function maxTokensOf(model: string): number {
  if (/claude-3-(opus|haiku|sonnet)/.test(model)) return 4096
  return /claude-3-5/.test(model) ? 8192 : 16_384
}

/** The thinking level as the model's generation expects it: a token budget before 4.6, an effort since. */
function thinkingFields(
  model: string,
  thinking: HarnessQuery['thinking'],
  maxTokens: number,
): Record<string, unknown> {
  if (thinking === undefined || /claude-3-(opus|haiku|sonnet|5)/.test(model)) return {}
  if (thinking === 'ultracode')
    throw new HarnessError(
      'thinking ultracode: the Messages API has no such effort.',
      'unsupported',
      MESSAGES_API_ID,
    )
  if (!isBudgeted(model)) {
    return { thinking: { type: 'adaptive' }, output_config: { effort: EFFORTS[thinking] } }
  }
  if (thinking === 'xhigh' || thinking === 'max')
    throw new HarnessError(
      `thinking ${thinking}: ${model} has no effort above high.`,
      'unsupported',
      MESSAGES_API_ID,
    )
  const budget = BUDGETS[thinking]
  return { thinking: { type: 'enabled', budget_tokens: budget }, max_tokens: maxTokens + budget }
}

const EFFORTS = { low: 'low', med: 'medium', high: 'high', xhigh: 'xhigh', max: 'max' } as const
const BUDGETS = { low: 4_000, med: 10_000, high: 24_000 } as const

function isBudgeted(model: string): boolean {
  return /claude-3-7|claude-(opus|sonnet|haiku)-4(-[015])?(-20\d{6}|$)/.test(model)
}
