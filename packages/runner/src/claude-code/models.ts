import type { HarnessCapabilities, HarnessMeta, HarnessModel } from '@chirality/core'
import { HARNESS_ID } from './config.ts'
import { CLAUDE_VERSIONS } from './install/features.ts'

export const CLAUDE_META: HarnessMeta = {
  id: HARNESS_ID,
  name: 'Claude Code',
  vendor: 'Anthropic',
  website: 'https://docs.anthropic.com/en/docs/claude-code',
  versions: CLAUDE_VERSIONS,
}

/** Aliases that every release resolves by itself, so the list cannot go stale; full names work as well. */
export const CLAUDE_MODELS: readonly HarnessModel[] = [
  { id: 'default', label: 'Default', isDefault: true },
  { id: 'opus', label: 'Opus' },
  { id: 'sonnet', label: 'Sonnet' },
  { id: 'haiku', label: 'Haiku' },
]

export const CLAUDE_CAPABILITIES: HarnessCapabilities = {
  supportsSystemPrompt: true,
  supportsAppendSystemPrompt: true,
  supportsReadOnly: true,
  supportsMcp: true,
  supportsResume: true,
  supportsFork: true,
  supportsForkAt: true,
  supportsClientTools: true,
  supportsStreamingTokens: true,
  supportsCostTracking: true,
  supportsNamedTools: true,
  supportsImages: true,
  // A process that is gone after its turn has nobody to ask: what is not allowed is denied.
  supportsDecisions: false,
  supportsSteering: false,
  supportsPrewarm: false,
  supportsMaxTurns: true,
  supportsBudget: true,
}

/** Of an agent that stays between turns. */
export const WARM_CAPABILITIES: HarnessCapabilities = {
  ...CLAUDE_CAPABILITIES,
  supportsDecisions: true,
  supportsSteering: true,
  supportsPrewarm: true,
}
