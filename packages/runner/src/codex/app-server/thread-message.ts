import type { RpcRequest } from '../../process/json-rpc.ts'

/** A message about one thread, as it was printed. */
export interface ThreadMessage {
  raw: unknown
  /** Set for a request, which has to be answered. */
  request?: RpcRequest
  /** Its position in the spool. */
  offset: number
  bytes: number
}

/** The range of the spool that holds a turn's messages: a restarted server needs no more to read them again. */
export interface NewsPlace {
  /** Messages about the thread from before the turn. */
  unheard: number[]
  /** From this offset on, all messages about the thread, its sub-agents or no thread. */
  from: number
  /** Threads of sub-agents that existed before the turn. */
  children: string[]
}

/** The last message of a turn. Turns of sub-agents end too; without an id the next end of the thread is used. */
export function endsTurn(raw: unknown, threadId: string, turnId: string | null): boolean {
  const { method, params } = raw as {
    method?: unknown
    params?: { threadId?: unknown; turn?: { id?: unknown } }
  }
  if (method !== 'turn/completed' || params?.threadId !== threadId) return false
  return turnId === null || params.turn?.id === turnId
}
