import type { HarnessQuery, PermissionMode } from '@chirality/core'
import { subagentEnv } from '../args.ts'
import type { ClaudeCodeHarnessConfig } from '../config.ts'
import { ControlError } from './control-channel.ts'
import type { LiveClaude } from './live-claude.ts'
import { isBypass } from './live-launch.ts'

/** Sets what can be set while the agent runs. False when this one cannot do as it is told, and another has to. */
export async function adjust(
  live: LiveClaude,
  query: HarnessQuery,
  config: ClaudeCodeHarnessConfig,
): Promise<boolean> {
  try {
    if (!isBypass(query) && query.permissionMode) await setMode(live, query.permissionMode)
    return await setModel(live, query, config)
  } catch (error) {
    if (!(error instanceof ControlError)) throw error
    if (error.isGone) await live.giveUp()
    return false
  }
}

/** 2.1.197 takes any word for a mode, so the word is checked before. */
export async function setMode(live: LiveClaude, mode: PermissionMode): Promise<void> {
  if (live.mode === mode) return
  await live.request({ subtype: 'set_permission_mode', mode })
}

/** No wish leaves the model as it is, as it does when a conversation is resumed. */
async function setModel(
  live: LiveClaude,
  { model, fallbackModel }: HarnessQuery,
  config: ClaudeCodeHarnessConfig,
): Promise<boolean> {
  if (model === undefined || model === live.model) return true
  const before = subagentEnv({ model: live.model, fallbackModel }, config)
  const env = subagentEnv({ model, fallbackModel }, config)
  // A variable can be changed in place, but not be taken away.
  if (Object.keys(before).some(name => !(name in env))) return false
  await live.request({ subtype: 'set_model', model })
  if (Object.keys(env).length > 0) await live.request({ subtype: 'apply_flag_settings', settings: { env } })
  live.model = model
  return true
}
