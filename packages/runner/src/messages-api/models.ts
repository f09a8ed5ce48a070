import type { HarnessCapabilities, HarnessMeta, HarnessModel, HarnessQuery } from '@chirality/core'
import { HARNESS_ID } from './config.ts'

export const MESSAGES_API_META: HarnessMeta = {
  id: HARNESS_ID,
  name: 'Messages API',
  vendor: 'Anthropic',
  website: 'https://docs.anthropic.com/en/api/messages',
}

/** Other names are passed on as they are. */
export const MESSAGES_API_MODELS: readonly HarnessModel[] = [
  { id: 'claude-sonnet-5-5', label: 'Claude Sonnet 5.5', isDefault: true },
  { id: 'claude-opus-5-5', label: 'Claude Opus 5.5' },
  { id: 'claude-haiku-5-5', label: 'Claude Haiku 5.5' },
  { id: 'claude-opus-4-8', label: 'Claude Opus 4.8' },
  { id: 'claude-sonnet-4-6', label: 'Claude Sonnet 4.6' },
  { id: 'claude-haiku-4-5', label: 'Claude Haiku 4.5' },
  { id: 'claude-3-haiku-20240307', label: 'Claude 3 Haiku' },
]

export const DEFAULT_HARNESS_MODEL = 'claude-sonnet-5-5'

export const MESSAGES_API_CAPABILITIES: HarnessCapabilities = {
  supportsSystemPrompt: true,
  supportsAppendSystemPrompt: true,
  supportsReadOnly: true,
  supportsMcp: false,
  supportsResume: true,
  supportsFork: true,
  supportsForkAt: true,
  supportsClientTools: true,
  supportsStreamingTokens: true,
  supportsCostTracking: true,
  supportsNamedTools: true,
  supportsImages: true,
  supportsDecisions: true,
  supportsSteering: true,
  // There is nothing to start.
  supportsPrewarm: false,
  supportsMaxTurns: true,
  supportsBudget: true,
}

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
