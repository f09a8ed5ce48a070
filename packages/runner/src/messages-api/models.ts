import type { HarnessQuery } from '@chirality/core'

export const DEFAULT_HARNESS_MODEL = 'claude-sonnet-5-5'

/** Room for a whole file in one answer, where the model has that much. */
export function maxTokensOf(model: string): number {
  if (/claude-3-(opus|haiku|sonnet)/.test(model)) return 4096
  return /claude-3-5/.test(model) ? 8192 : 16_384
}

/** How much to think, in the words of the model's generation: a budget of tokens before 4.6, an effort since. */
export function thinkingFields(
  model: string,
  thinking: HarnessQuery['thinking'],
  maxTokens: number,
): Record<string, unknown> {
  if (thinking === undefined || /claude-3-(opus|haiku|sonnet|5)/.test(model)) return {}
  if (!isBudgeted(model)) {
    return { thinking: { type: 'adaptive' }, output_config: { effort: EFFORTS[thinking] } }
  }
  const budget = BUDGETS[thinking]
  return { thinking: { type: 'enabled', budget_tokens: budget }, max_tokens: maxTokens + budget }
}

const EFFORTS = { low: 'low', med: 'medium', high: 'high' } as const
const BUDGETS = { low: 4_000, med: 10_000, high: 24_000 } as const

function isBudgeted(model: string): boolean {
  return /claude-3-7|claude-(opus|sonnet|haiku)-4(-[015])?(-20\d{6}|$)/.test(model)
}
