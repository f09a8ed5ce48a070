import type { HarnessVersions } from '@chirality/core'
import type { ClaudeAgentName, ClaudeCodeHarnessConfig } from '../claude-code/config.ts'
import type { RuntimeDecision, RuntimeEvent } from './runtime/runtime-event.ts'

export const HARNESS_ID = 'agent-sdk'

export const AGENT_SDK: ClaudeAgentName = {
  harnessId: HARNESS_ID,
  name: 'Claude Agent SDK',
  install: 'Install it with `npm install @anthropic-ai/claude-agent-sdk`, which brings Claude Code along.',
}

export const SDK_VERSIONS: HarnessVersions = {
  tested: ['0.3.325'],
  oldest: '0.3.142',
  update: 'Update it with `npm install @anthropic-ai/claude-agent-sdk@latest`.',
}

export interface AgentSdkHarnessConfig extends ClaudeCodeHarnessConfig {
  /** Folder of the SDK's package. Found from this package if not set. */
  sdkPath?: string
  /** How long the SDK may take until it asks for its agent. Default 60 s. */
  startLimitMs?: number
  /**
   * Told of every hook of the agent; without it no hook is registered. For an event that expects a decision the agent
   * waits for what this returns; if it throws, the agent may not go on.
   */
  onRuntimeEvent?: (event: RuntimeEvent) => RuntimeDecision | undefined | Promise<RuntimeDecision | undefined>
}
