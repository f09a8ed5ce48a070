import type { HarnessMeta, HarnessVersions } from '@chirality/core'
import {
  CLAUDE_ENVIRONMENT,
  CLAUDE_META,
  CLAUDE_TRIAL,
  WARM_CAPABILITIES,
} from '../claude-code/descriptor.ts'
import type { HarnessDescriptor } from '../harness-descriptor.ts'
import { testedReleases } from '../tested-releases.ts'

export const AGENT_SDK_ID = 'agent-sdk'

export const SDK_VERSIONS: HarnessVersions = {
  tested: testedReleases(AGENT_SDK_ID, ['0.3.325']),
  oldest: '0.3.142',
  update: 'Update it with `npm install @anthropic-ai/claude-agent-sdk@latest`.',
}

/** The SDK runs Claude Code, which reads the same variables and stores the conversations. */
export const AGENT_SDK_META: HarnessMeta = {
  id: AGENT_SDK_ID,
  name: 'Claude Agent SDK',
  label: 'Agent SDK',
  vendor: 'Anthropic',
  website: 'https://docs.anthropic.com/en/docs/claude-code/sdk',
  install: 'npm install @anthropic-ai/claude-agent-sdk',
  versions: SDK_VERSIONS,
  login: CLAUDE_META.login,
  environment: CLAUDE_ENVIRONMENT,
  nativeSessions: CLAUDE_META.nativeSessions,
}

export const agentSdk: HarnessDescriptor = {
  trial: CLAUDE_TRIAL,
  meta: AGENT_SDK_META,
  capabilities: WARM_CAPABILITIES,
  create: async options => new (await import('./harness.ts')).AgentSdkHarness(options),
}
