import {
  DEFAULT_MAX_TURNS,
  HarnessError,
  type HarnessQuery,
  type PermissionMode,
  type PriceTable,
  priceOf,
} from '@chirality/core'
import { checkDirectory } from '../turn/check-directory.ts'
import { HARNESS_ID, type MessagesApiContext } from './config.ts'
import { endpointOf } from './credentials.ts'
import type { Config } from './loop/config.ts'
import type { Tool } from './loop/tool.ts'
import { DEFAULT_HARNESS_MODEL, maxTokensOf, thinkingFields } from './models.ts'
import { type PromptBlocks, promptBlocks } from './prompt-blocks.ts'
import { systemPrompt } from './system-prompt.ts'
import { builtInTools } from './tools/all-tools.ts'
import { Workspace } from './tools/workspace.ts'

/** All that a turn needs, checked. */
export interface PreparedTurn {
  prompt: PromptBlocks
  loop: Config & { model: string }
  tools: Tool[]
  permissionMode: PermissionMode
  prices: PriceTable | undefined
}

/** Throws a HarnessError for what is wrong before anything starts. */
export async function prepareTurn(
  query: HarnessQuery,
  { config, environment }: MessagesApiContext,
): Promise<PreparedTurn> {
  refuseUnsupported(query)
  const prompt = await promptBlocks(query.prompt)
  await checkDirectory('The folder', query.cwd, HARNESS_ID)
  for (const folder of query.additionalDirectories ?? [])
    await checkDirectory('The folder', folder, HARNESS_ID)
  const endpoint = endpointOf(environment, query.env)
  const model = query.model ?? DEFAULT_HARNESS_MODEL
  if (query.maxBudgetUsd !== undefined && priceOf(model, config.prices) === undefined) {
    const message = `maxBudgetUsd: what ${model} costs is not known. Give its price in \`prices\`.`
    throw new HarnessError(message, 'invalid_query', HARNESS_ID)
  }
  const workspace = await Workspace.open(query.cwd, query.additionalDirectories)
  const tools = builtInTools(workspace)
  const maxTokens = config.maxTokens ?? maxTokensOf(model)
  return {
    prompt,
    tools,
    permissionMode: query.permissionMode ?? 'dontAsk',
    prices: config.prices,
    loop: {
      ...endpoint,
      model,
      maxTokens,
      systemPrompt: systemPrompt(
        query,
        tools.map(({ name }) => name),
      ),
      maxTurns: query.maxTurns ?? DEFAULT_MAX_TURNS,
      fallbackModel: query.fallbackModel,
      maxRetries: config.maxRetries,
      promptCaching: config.promptCaching,
      extraBody: extraFields(query, model, maxTokens),
    },
  }
}

function extraFields(query: HarnessQuery, model: string, maxTokens: number): Record<string, unknown> {
  const fields = thinkingFields(model, query.thinking, maxTokens)
  if (query.outputSchema === undefined) return fields
  const format = { type: 'json_schema', schema: query.outputSchema }
  return { ...fields, output_config: { ...(fields.output_config ?? {}), format } }
}

function refuseUnsupported({ mcpServers, continueLast }: HarnessQuery): void {
  if (mcpServers && Object.keys(mcpServers).length > 0)
    throw new HarnessError(
      'mcpServers: this harness has no MCP client. Use clientTools.',
      'unsupported',
      HARNESS_ID,
    )
  if (continueLast)
    throw new HarnessError(
      'continueLast: name the conversation with resumeSessionId.',
      'unsupported',
      HARNESS_ID,
    )
}
