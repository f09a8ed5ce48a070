import {
  type HarnessCapabilities,
  type HarnessId,
  type HarnessTurnOpts,
  type ToolKind,
  toolKind,
} from '@chirality/core'
import { isPattern, toolName } from './parse/tool-list.ts'
import type { PersonaConfig } from './persona.ts'

export interface PersonaTurnOpts {
  /** To be spread before the turn's own options, which win. */
  opts: Partial<HarnessTurnOpts>
  /** Wishes of the persona that this harness cannot fulfil. To be shown. */
  warnings: string[]
}

/** Capabilities that a persona's limits depend on; `harness.capabilities()` has them. */
export type ScopeCapabilities = Pick<
  HarnessCapabilities,
  | 'supportsAppendSystemPrompt'
  | 'supportsCostTracking'
  | 'supportsMaxTurns'
  | 'supportsNamedTools'
  | 'supportsReadOnly'
>

/**
 * A persona's limits as options for a turn. Nothing is widened on the way: what a harness cannot enforce is replaced by
 * something narrower or left out, and said. With `harnessId` a model that was meant for another harness is left out.
 */
export function personaTurnOpts(
  persona: PersonaConfig,
  capabilities: ScopeCapabilities,
  harnessId?: HarnessId,
): PersonaTurnOpts {
  const scope = capabilities.supportsNamedTools ? namedTools(persona) : noNamedTools(persona, capabilities)
  const model = modelFor(persona, harnessId)
  const budget = budgetFor(persona, capabilities)
  const opts: Partial<HarnessTurnOpts> = {
    permissionMode: persona.permissionMode,
    ...(capabilities.supportsMaxTurns ? { maxTurns: persona.maxTurns } : {}),
    ...model.opts,
    ...budget.opts,
    ...scope.opts,
  }
  const warnings = [...scope.warnings, ...model.warnings, ...budget.warnings]
  if (persona.maxTurns !== undefined && !capabilities.supportsMaxTurns)
    warnings.push('max_turns cannot be enforced: this agent counts no rounds.')
  if (!capabilities.supportsAppendSystemPrompt)
    warnings.push('This agent takes no text beside its own system prompt: the instructions do not reach it.')
  // An option that is there but undefined would hide what the caller spreads before it.
  return { opts: definedOnly(opts), warnings: warnings.map(warning => `${persona.id}: ${warning}`) }
}

function namedTools({ allowedTools, disallowedTools, autoApproveTools }: PersonaConfig): PersonaTurnOpts {
  const patterns = allowedTools?.filter(isPattern) ?? []
  return {
    opts: {
      // A pattern here can only be misread: agents split this list at every comma.
      tools: allowedTools?.filter(tool => !isPattern(tool)).join(','),
      disallowedTools: disallowedTools && [...disallowedTools],
      autoApproveTools: autoApproveTools && [...autoApproveTools],
    },
    warnings: patterns.map(
      tool => `tools goes by whole tools, so ${toolName(tool)} is not available through ${tool}.`,
    ),
  }
}

/** The closest thing left is the sandbox: read-only when the persona has no tool that changes anything. */
function noNamedTools(persona: PersonaConfig, { supportsReadOnly }: ScopeCapabilities): PersonaTurnOpts {
  const { allowedTools, disallowedTools = [], autoApproveTools = [] } = persona
  const warnings: string[] = []
  const isReadOnly = supportsReadOnly && onlyReads(persona)
  if (allowedTools) warnings.push(`tools cannot be enforced: this agent has its own set of tools.`)
  if (disallowedTools.length > 0)
    warnings.push(
      `disallowed_tools cannot be enforced: this agent cannot be denied ${disallowedTools.join(', ')}.`,
    )
  if (autoApproveTools.length > 0)
    warnings.push('auto_approve_tools has no effect: this agent approves by sandbox, not by tool.')
  if (isReadOnly) warnings.push('None of its tools changes anything, so the turn runs read-only instead.')
  return { opts: isReadOnly ? { permissionMode: 'plan' } : {}, warnings }
}

function onlyReads({ allowedTools, disallowedTools = [] }: PersonaConfig): boolean {
  const isGone = (tool: string) => disallowedTools.includes(toolName(tool))
  if (allowedTools)
    return allowedTools.every(tool => READING_KINDS.has(toolKind(toolName(tool))) || isGone(tool))
  return CHANGING_TOOLS.every(isGone)
}

const READING_KINDS: ReadonlySet<ToolKind> = new Set(['read', 'search', 'fetch', 'think'])
const CHANGING_TOOLS = ['Bash', 'Edit', 'NotebookEdit', 'Write']

function modelFor({ harness, model }: PersonaConfig, harnessId: HarnessId | undefined): PersonaTurnOpts {
  if (!harness || !harnessId || harness === harnessId) return { opts: { model }, warnings: [] }
  const rest = model ? `, and its model ${model} is left out` : ''
  return { opts: {}, warnings: [`It is meant for ${harness}; this turn runs with ${harnessId}${rest}.`] }
}

function budgetFor({ budgetUsd }: PersonaConfig, capabilities: ScopeCapabilities): PersonaTurnOpts {
  if (budgetUsd === undefined || capabilities.supportsCostTracking)
    return { opts: { maxBudgetUsd: budgetUsd }, warnings: [] }
  return { opts: {}, warnings: ['budget_usd cannot be enforced: this agent does not say what it costs.'] }
}

function definedOnly<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T
}
