import {
  type ClaudeEvent,
  type HarnessCapabilities,
  type HarnessEvent,
  type HarnessInstallStatus,
  type HarnessMeta,
  HarnessNotInstalledError,
  type HarnessQuery,
  versionSupport,
} from '@chirality/core'
import type { ClaudeContext } from '../claude-code/config.ts'
import { WARM_CAPABILITIES } from '../claude-code/descriptor.ts'
import { ClaudeCodeHarness } from '../claude-code/harness.ts'
import { type ClaudeRequest, type ClaudeResponse, runClaudeOnce } from '../claude-code/run/run-once.ts'
import { processEnv } from '../process/system/process-env.ts'
import { type AgentSdkHarnessConfig, findAgentSdk } from './config.ts'
import { AGENT_SDK_META, SDK_VERSIONS } from './descriptor.ts'
import { querySdk } from './query.ts'
import { sdkVariant } from './variant.ts'

/** Runs Claude through the Agent SDK, in a Worker. What the agent says is read and shown as that of Claude Code is. */
export class AgentSdkHarness extends ClaudeCodeHarness {
  readonly #config: AgentSdkHarnessConfig

  constructor(config: AgentSdkHarnessConfig = {}) {
    super({ ...config, keepAlive: true }, sdkVariant(config))
    this.#config = config
  }

  override meta(): HarnessMeta {
    return AGENT_SDK_META
  }

  override capabilities(): HarnessCapabilities {
    return WARM_CAPABILITIES
  }

  /** The agent's own status, with the version of the SDK; both have to be there. */
  override async checkInstallStatus(): Promise<HarnessInstallStatus> {
    try {
      const { version } = findAgentSdk(this.#config.sdkPath)
      const status = await super.checkInstallStatus()
      const support = versionSupport(version, SDK_VERSIONS)
      return status.installed ? { ...status, version, support } : status
    } catch (error) {
      if (!(error instanceof HarnessNotInstalledError)) throw error
      return {
        installed: false,
        authType: 'none',
        authenticated: false,
        authInstructions: error.instructions,
      }
    }
  }

  override query(query: HarnessQuery): AsyncGenerator<HarnessEvent<ClaudeEvent>> {
    return querySdk(query, this.#sdkContext)
  }

  /** One prompt, one full answer, through the SDK and its hooks. */
  override run(request: ClaudeRequest): Promise<ClaudeResponse> {
    return runClaudeOnce(request, { ...this.#sdkContext, ask: querySdk })
  }

  get #sdkContext(): ClaudeContext {
    const environment = processEnv(this.#config.environment)
    return { config: this.#config, environment, variant: sdkVariant(this.#config) }
  }
}
