import type { HarnessId, HarnessMeta } from '@chirality/core'
import { agentSdk } from './agent-sdk/descriptor.ts'
import { claudeCode } from './claude-code/descriptor.ts'
import { codex } from './codex/descriptor.ts'
import type { HarnessDescriptor } from './harness-descriptor.ts'
import { messagesApi } from './messages-api/descriptor.ts'

/** Every harness there is. The first is the one that runs when none is named. */
export const HARNESSES: readonly [HarnessDescriptor, ...HarnessDescriptor[]] = [
  claudeCode,
  codex,
  agentSdk,
  messagesApi,
]

/** Undefined for one that is not in the list. */
export function harnessMeta(id: HarnessId | null | undefined): HarnessMeta | undefined {
  return HARNESSES.find(({ meta }) => meta.id === id)?.meta
}
