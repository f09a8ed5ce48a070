import type { HarnessCapabilities, HarnessMeta } from '@chirality/core'
import type { HarnessDescriptor } from '@chirality/runner'

export const META: HarnessMeta = {
  id: 'line-agent',
  name: 'Line Agent',
  vendor: 'Chirality',
  website: 'https://example.com/line-agent',
  install: 'npm install -g line-agent',
  login: { variable: 'LINE_AGENT_KEY' },
  environment: { names: ['LINE_AGENT_KEY', 'LINE_AGENT_URL'] },
}

export const CAPABILITIES: HarnessCapabilities = {
  supportsSystemPrompt: false,
  supportsAppendSystemPrompt: true,
  supportsReadOnly: false,
  supportsMcp: false,
  supportsResume: true,
  supportsFork: true,
  supportsForkAt: false,
  supportsClientTools: true,
  supportsStreamingTokens: true,
  supportsCostTracking: false,
  supportsNamedTools: false,
  supportsImages: false,
  supportsDecisions: false,
  supportsSteering: false,
  supportsPrewarm: false,
  supportsMaxTurns: false,
  supportsBudget: false,
}

export const lineAgent: HarnessDescriptor = {
  meta: META,
  capabilities: CAPABILITIES,
  create: async options => (await import('./harness.ts')).lineHarness(options),
}
