import type { HarnessCapabilities } from '@chirality/core'
import type { HarnessInfo } from '../../src/state/server/answers.ts'

const CAN_ALL: HarnessCapabilities = {
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
  supportsDecisions: true,
  supportsSteering: true,
  supportsPrewarm: true,
  supportsMaxTurns: true,
  supportsBudget: true,
}

/** A harness that can do everything, but for what a test takes away. */
export function aHarness(
  fields: Partial<Omit<HarnessInfo, 'capabilities'>> & { capabilities?: Partial<HarnessCapabilities> } = {},
): HarnessInfo {
  return {
    id: 'claude-code',
    name: 'Claude Code',
    vendor: 'Anthropic',
    website: 'https://example.org',
    models: [
      { id: 'claude-opus-5-5', label: 'Opus 5.5', isDefault: true },
      { id: 'claude-haiku-5', label: 'Haiku 5' },
    ],
    usesProjectFiles: true,
    nativeSessions: fields.id ?? 'claude-code',
    ...fields,
    capabilities: { ...CAN_ALL, ...fields.capabilities },
  }
}
