import {
  type ClaudeEvent,
  type HarnessInstallStatus,
  HarnessNotInstalledError,
  versionSupport,
} from '@chirality/core'
import type { ClaudeContext } from '../claude-code/config.ts'
import { warmClaudeAgent } from '../claude-code/harness.ts'
import { claudeInstallStatus } from '../claude-code/install/install-status.ts'
import { type ClaudeRequest, type ClaudeResponse, runClaudeOnce } from '../claude-code/run/run-once.ts'
import { processEnv } from '../process/system/process-env.ts'
import { AgentHarness, type Offered } from '../turn/create-harness.ts'
import { type AgentSdkHarnessConfig, findAgentSdk } from './config.ts'
import { AGENT_SDK_META, SDK_VERSIONS } from './descriptor.ts'
import { querySdk } from './query.ts'
import { sdkVariant } from './variant.ts'

/** Runs Claude through the Agent SDK, in a Worker. What the agent says is read and shown as that of Claude Code is. */
export class AgentSdkHarness extends AgentHarness<ClaudeEvent> {
  declare readonly adoptTurn: Offered<'adoptTurn'>
  declare readonly listNativeSessions: Offered<'listNativeSessions'>
  declare readonly importSession: Offered<'importSession'>
  declare readonly projectFiles: Offered<'projectFiles'>
  declare readonly steer: Offered<'steer'>
  declare readonly prewarm: Offered<'prewarm'>
  declare readonly setPermissionMode: Offered<'setPermissionMode'>
  declare readonly contextUsage: Offered<'contextUsage'>
  readonly #context: ClaudeContext

  constructor(config: AgentSdkHarnessConfig = {}) {
    const environment = processEnv(config.environment)
    const context = { config, environment, variant: sdkVariant(config) }
    super({
      ...warmClaudeAgent(context),
      meta: AGENT_SDK_META,
      installStatus: () => sdkInstallStatus(context),
      query: query => querySdk(query, context),
    })
    this.#context = context
  }

  /** One prompt, one full answer, through the SDK and its hooks. */
  run(request: ClaudeRequest): Promise<ClaudeResponse> {
    return runClaudeOnce(request, { ...this.#context, ask: querySdk })
  }
}

/** The agent's own status, with the version of the SDK; both have to be there. */
async function sdkInstallStatus(
  context: ClaudeContext & { config: AgentSdkHarnessConfig },
): Promise<HarnessInstallStatus> {
  try {
    const { version } = findAgentSdk(context.config.sdkPath)
    const status = await claudeInstallStatus(context)
    const support = versionSupport(version, SDK_VERSIONS)
    return status.installed ? { ...status, version, support } : status
  } catch (error) {
    if (!(error instanceof HarnessNotInstalledError)) throw error
    const { instructions: authInstructions } = error
    return { installed: false, authType: 'none', authenticated: false, authInstructions }
  }
}
