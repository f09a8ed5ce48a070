import type { HarnessTurnOpts, PermissionMode } from '@chirality/core'

/** What a person chose for a session; every turn of it begins with these. */
export interface SessionSettings {
  model?: string
  permissionMode?: PermissionMode
  thinking?: NonNullable<HarnessTurnOpts['thinking']>
  /** The most that all turns of the session may cost together. */
  budgetUsd?: number
  /** The most rounds of model and tools in one turn. */
  maxTurns?: number
  /** The most tokens that models may read and write in all of its turns together. */
  budgetTokens?: number
}

/** What is wrong in a file is left out: a setting is never guessed. */
export function parseSettings(value: unknown): SessionSettings {
  if (typeof value !== 'object' || value === null) return {}
  const { model, permissionMode, thinking, budgetUsd, budgetTokens, maxTurns } = value as Record<
    string,
    unknown
  >
  const settings: SessionSettings = {}
  if (typeof model === 'string' && model !== '') settings.model = model
  if (isPermissionMode(permissionMode)) settings.permissionMode = permissionMode
  if (thinking === 'low' || thinking === 'med' || thinking === 'high') settings.thinking = thinking
  if (typeof budgetUsd === 'number' && budgetUsd >= 0) settings.budgetUsd = budgetUsd
  if (Number.isSafeInteger(maxTurns) && Number(maxTurns) > 0) settings.maxTurns = Number(maxTurns)
  if (typeof budgetTokens === 'number' && budgetTokens >= 0) settings.budgetTokens = budgetTokens
  return settings
}

/**
 * The file lies in the project, where an agent or a clone can write: it may not take all checks away. Whoever wants
 * that says so with the turn.
 */
function isPermissionMode(value: unknown): value is PermissionMode {
  return value === 'default' || value === 'acceptEdits' || value === 'dontAsk' || value === 'plan'
}
