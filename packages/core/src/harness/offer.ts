export interface HarnessModel {
  id: string
  label: string
  /** What the agent says of it, with its price where it names one. */
  description?: string
  isDefault?: boolean
  /** The efforts that the agent names for it. Undefined: the agent does not say. */
  efforts?: ThinkingLevel[]
  /** The agent offers the permission mode `auto` with it. */
  supportsAutoMode?: boolean
}

/**
 * The specification's three, and those that newer models have above them. `ultracode` is Claude Code's: the effort
 * xhigh, with sub-agents that it plans by itself.
 */
export const THINKING_LEVELS = ['low', 'med', 'high', 'xhigh', 'max', 'ultracode'] as const

export type ThinkingLevel = (typeof THINKING_LEVELS)[number]

export interface SlashCommand {
  name: string
  type: 'skill' | 'slash_command'
  description?: string
  /** What to write after the name. */
  hint?: string
}
