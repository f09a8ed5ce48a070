import type { ClaudeVariant, Launch } from '../claude-code/config.ts'
import { refuseTooOld } from '../turn/agent-version.ts'
import { AGENT_SDK, type AgentSdkHarnessConfig, SDK_VERSIONS } from './config.ts'
import { findAgentSdk } from './find-sdk.ts'
import { sdkOptions } from './options.ts'
import { HOOK_NAMES, type HookName } from './protocol/hook-names.ts'
import type { StartRequest } from './protocol/worker-messages.ts'
import { block } from './runtime/decision-mapper.ts'
import { isDecided } from './runtime/event-translator.ts'
import { startSdkAgent } from './sdk-agent.ts'

/** Claude Code, started by the SDK. */
export function sdkVariant(config: AgentSdkHarnessConfig): ClaudeVariant {
  return {
    agent: AGENT_SDK,
    registersGuard: true,
    version: () => {
      const { version } = findAgentSdk(config.sdkPath)
      return { version, versions: SDK_VERSIONS, name: AGENT_SDK.name }
    },
    start: async (launch, spool, signal) => {
      try {
        return await startSdkAgent({ start: await startRequest(launch, config), spool, config, signal })
      } catch (error) {
        await spool.discard()
        throw error
      }
    },
  }
}

async function startRequest(launch: Launch, config: AgentSdkHarnessConfig): Promise<StartRequest> {
  const names = config.onRuntimeEvent ? HOOK_NAMES : []
  const hooks = names.map(hookName => ({ hookName, refusal: refusalOf(hookName) }))
  const { url: sdkUrl, version } = findAgentSdk(config.sdkPath)
  refuseTooOld(version, SDK_VERSIONS, AGENT_SDK)
  return {
    sdkUrl,
    options: sdkOptions({ ...launch, config }),
    hooks,
    blockOnHookFailure:
      (hooks.length > 0 || launch.guard !== undefined) && launch.features.blocksOnHookFailure,
    ...(launch.guard ? { guardRefusal: refusalOf('PreToolUse') } : {}),
  }
}

/** A hook that only tells cannot be refused: the agent would show that as an error. */
function refusalOf(hookName: HookName): Record<string, unknown> {
  return isDecided(hookName) ? block(hookName, 'The request was withdrawn.') : {}
}
