import type { HarnessCapabilities, HarnessEnvironment, HarnessMeta, HarnessModel } from '@chirality/core'
import type { HarnessDescriptor } from '../harness-descriptor.ts'

export const MESSAGES_API_ID = 'messages-api'

/** The variables for requests to the API. Commands of the agent do not receive them. */
export const MESSAGES_API_ENVIRONMENT: HarnessEnvironment = {
  names: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_BASE_URL'],
}

export const MESSAGES_API_META: HarnessMeta = {
  id: MESSAGES_API_ID,
  name: 'Messages API',
  vendor: 'Anthropic',
  website: 'https://docs.anthropic.com/en/api/messages',
  login: { variable: 'ANTHROPIC_API_KEY' },
  environment: MESSAGES_API_ENVIRONMENT,
}

/** The listed models; other names are passed on unchanged. */
export const MESSAGES_API_MODELS: readonly HarnessModel[] = [
  { id: 'claude-sonnet-5-5', label: 'Claude Sonnet 5.5', isDefault: true },
  { id: 'claude-opus-5-5', label: 'Claude Opus 5.5' },
  { id: 'claude-haiku-5-5', label: 'Claude Haiku 5.5' },
  { id: 'claude-opus-4-8', label: 'Claude Opus 4.8' },
  { id: 'claude-sonnet-4-6', label: 'Claude Sonnet 4.6' },
  { id: 'claude-haiku-4-5', label: 'Claude Haiku 4.5' },
  { id: 'claude-3-haiku-20240307', label: 'Claude 3 Haiku' },
]

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
  asksAgain: true,
  supportsSteering: true,
  // There is no process to start in advance.
  supportsPrewarm: false,
  supportsMaxTurns: true,
  supportsBudget: true,
}

export const messagesApi: HarnessDescriptor = {
  trial: { prepare: async ({ url }) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'sk-trial' }) },
  meta: MESSAGES_API_META,
  capabilities: MESSAGES_API_CAPABILITIES,
  create: async options => new (await import('./harness.ts')).MessagesApiHarness(options),
}
