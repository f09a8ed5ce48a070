import type { HarnessId, HarnessMeta } from '@chirality/core'
import { acpDescriptor, KNOWN_AGENTS } from './acp/agent-spec.ts'
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

/** The harness whose agent keeps the conversations of this one. Harnesses with the same keeper can continue each other's. */
export function conversationKeeper(id: HarnessId): HarnessId {
  const meta =
    harnessMeta(id) ?? KNOWN_AGENTS.map(spec => acpDescriptor(spec).meta).find(known => known.id === id)
  return meta?.nativeSessions ?? id
}
