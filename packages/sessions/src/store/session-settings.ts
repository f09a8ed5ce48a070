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
  /** The most time that all of its turns may take together, without what they wait for a person. */
  budgetMinutes?: number
}

/** What is wrong in a file is left out: a setting is never guessed. */
export function parseSettings(value: unknown): SessionSettings {
  if (typeof value !== 'object' || value === null) return {}
  const fields = value as Record<string, unknown>
  const { model, permissionMode, thinking, maxTurns } = fields
  const settings: SessionSettings = {}
  if (typeof model === 'string' && model !== '') settings.model = model
  if (isPermissionMode(permissionMode)) settings.permissionMode = permissionMode
  if (thinking === 'low' || thinking === 'med' || thinking === 'high') settings.thinking = thinking
  if (Number.isSafeInteger(maxTurns) && Number(maxTurns) > 0) settings.maxTurns = Number(maxTurns)
  for (const name of BUDGETS) {
    const amount = fields[name]
    if (typeof amount === 'number' && amount >= 0) settings[name] = amount
  }
  return settings
}

const BUDGETS = ['budgetUsd', 'budgetTokens', 'budgetMinutes'] as const

/**
 * The budgets of a file that lies in the project can only narrow what the user's own data folder says: an agent can write
 * it.
 */
export function narrowBudgets(own: SessionSettings, users: SessionSettings): SessionSettings {
  const settings = { ...own }
  for (const name of BUDGETS) {
    const limits = [own[name], users[name]].filter(limit => limit !== undefined)
    if (limits.length > 0) settings[name] = Math.min(...limits)
  }
  return settings
}

/** The session has a limit of its own. */
export function hasBudget(settings: SessionSettings): boolean {
  return BUDGETS.some(name => settings[name] !== undefined)
}

/**
 * The file lies in the project, where an agent or a clone can write: it may not take all checks away. Whoever wants
 * that says so with the turn.
 */
function isPermissionMode(value: unknown): value is PermissionMode {
  return value === 'default' || value === 'acceptEdits' || value === 'dontAsk' || value === 'plan'
}
