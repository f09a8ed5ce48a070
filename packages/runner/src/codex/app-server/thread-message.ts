import type { RpcRequest } from './json-rpc.ts'

/** A message about one thread, as it was printed. */
export interface ThreadMessage {
  raw: unknown
  /** Set when it is a request that has to be answered. */
  request?: RpcRequest
  /** Where it is in the spool. */
  offset: number
  bytes: number
}

/** Where in the spool the news of a turn is: all that a later reader needs to tell the same messages from it. */
export interface NewsPlace {
  /** Said of the thread before the turn. */
  unheard: number[]
  /** From here on all that is of the thread or its children, or of none. */
  from: number
  /** Threads of sub-agents that were there already. */
  children: string[]
}

/** The last message of a turn. Turns of sub-agents end, too; without its id the thread's next end is taken for it. */
export function endsTurn(raw: unknown, threadId: string, turnId: string | null): boolean {
  const { method, params } = raw as {
    method?: unknown
    params?: { threadId?: unknown; turn?: { id?: unknown } }
  }
  if (method !== 'turn/completed' || params?.threadId !== threadId) return false
  return turnId === null || params.turn?.id === turnId
}
