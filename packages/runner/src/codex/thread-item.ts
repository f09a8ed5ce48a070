import type { PermissionResolvedEvent, StatusEvent } from '@chirality/core'
import type { ThreadMessage } from './thread-message.ts'

/** What happens in a turn, in order: what Codex says, and what we say of it ourselves. */
export type ThreadItem =
  | ({ kind: 'message' } & ThreadMessage)
  | { kind: 'told'; event: PermissionResolvedEvent | StatusEvent }

/** The last message of a turn. Turns of sub-agents end, too; without its id the thread's next end is taken for it. */
export function endsTurn(raw: unknown, threadId: string, turnId: string | null): boolean {
  const { method, params } = raw as {
    method?: unknown
    params?: { threadId?: unknown; turn?: { id?: unknown } }
  }
  if (method !== 'turn/completed' || params?.threadId !== threadId) return false
  return turnId === null || params.turn?.id === turnId
}
