import { type PermissionMode, THINKING_LEVELS, type ThinkingLevel } from '@chirality/core'

/** The settings that a person chose for a session; every turn of it starts with these. */
export interface SessionSettings {
  model?: string
  permissionMode?: PermissionMode
  thinking?: ThinkingLevel
  /** The maximum cost of all turns of the session together. */
  budgetUsd?: number
  /** The maximum number of model and tool rounds in one turn. */
  maxTurns?: number
  /** The maximum number of tokens that models may read and write in all of its turns together. */
  budgetTokens?: number
  /** The maximum duration of all of its turns together, without the time they wait for a person. */
  budgetMinutes?: number
}

/** An invalid setting in a file is dropped, never guessed. */
export function parseSettings(value: unknown): SessionSettings {
  if (typeof value !== 'object' || value === null) return {}
  const fields = value as Record<string, unknown>
  const { model, permissionMode, thinking, maxTurns } = fields
  const settings: SessionSettings = {}
  if (typeof model === 'string' && model !== '') settings.model = model
  if (isPermissionMode(permissionMode)) settings.permissionMode = permissionMode
  const level = THINKING_LEVELS.find(known => known === thinking)
  if (level !== undefined) settings.thinking = level
  if (Number.isSafeInteger(maxTurns) && Number(maxTurns) > 0) settings.maxTurns = Number(maxTurns)
  for (const name of BUDGETS) {
    const amount = fields[name]
    if (typeof amount === 'number' && amount >= 0) settings[name] = amount
  }
  return settings
}

const BUDGETS = ['budgetUsd', 'budgetTokens', 'budgetMinutes'] as const

/**
 * Budgets in a file of the project can only lower those in the user's own data folder, because an agent can write the
 * file.
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
 * An agent or a clone can write the file in the project, so it must not switch all checks off. That mode has to be
 * passed with each turn.
 */
function isPermissionMode(value: unknown): value is PermissionMode {
  return KEPT_MODES.some(mode => mode === value)
}

const KEPT_MODES: readonly PermissionMode[] = ['default', 'acceptEdits', 'auto', 'dontAsk', 'plan']
