import type { ClaudeVariant, Launch } from '../claude-code/config.ts'
import { claudeVersion, isSince } from '../claude-code/executable.ts'
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
    blockOnHookFailure: hooks.length > 0 && (await blocksOnFailure(launch)),
  }
}

/** A hook that only tells cannot be refused: the agent would show that as an error. */
function refusalOf(hookName: HookName): Record<string, unknown> {
  return isDecided(hookName) ? block(hookName, 'The request was withdrawn.') : {}
}

async function blocksOnFailure({ command, env, query }: Launch): Promise<boolean> {
  return isSince(await claudeVersion(command, env, query.signal), ON_FAILURE_SINCE)
}

/** The first release known to heed `onFailure`; for 2.1.197 the SDK refuses to start with it. */
const ON_FAILURE_SINCE = [2, 1, 325]
