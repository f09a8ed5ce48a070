import { AsyncQueue } from '../async-queue.ts'
import type { RpcRequest } from './json-rpc.ts'

/** A message about one thread, as it was printed. */
export interface ThreadMessage {
  raw: unknown
  /** Set when it is a request that has to be answered. */
  request?: RpcRequest
}

/** Brings what an app-server says to whoever runs a turn of the thread that it is about. */
export class ThreadNews {
  readonly #listeners = new Map<string, AsyncQueue<ThreadMessage>>()
  /** Said before anyone listened: MCP servers start, and warnings come, before the first turn does. */
  readonly #unheard = new Map<string, ThreadMessage[]>()
  /** Threads of sub-agents, by the thread that started them: their news belongs to its session. */
  readonly #parents = new Map<string, string>()
  #ended = false

  /** Null while another turn of the thread listens: its news cannot be shared out. */
  listen(threadId: string): AsyncQueue<ThreadMessage> | null {
    if (this.#listeners.has(threadId)) return null
    const queue = new AsyncQueue<ThreadMessage>()
    for (const message of [...this.#take(ABOUT_NONE), ...this.#take(threadId)]) queue.push(message)
    if (this.#ended) queue.end()
    this.#listeners.set(threadId, queue)
    return queue
  }

  leave(threadId: string): void {
    this.#listeners.get(threadId)?.end()
    this.#listeners.delete(threadId)
  }

  tell(params: unknown, message: ThreadMessage): void {
    const threadId = this.#threadOf(params)
    if (threadId !== undefined) this.#deliver(threadId, message)
    else if (this.#listeners.size === 0) this.#keep(ABOUT_NONE, message)
    else for (const queue of this.#listeners.values()) queue.push(message)
  }

  /** False when it is about no thread: a request needs one owner. */
  ask(params: unknown, message: ThreadMessage): boolean {
    const threadId = this.#threadOf(params)
    if (threadId !== undefined) this.#deliver(threadId, message)
    return threadId !== undefined
  }

  /** The process is gone. */
  end(): void {
    this.#ended = true
    for (const queue of this.#listeners.values()) queue.end()
  }

  #deliver(threadId: string, message: ThreadMessage): void {
    const queue = this.#listeners.get(threadId)
    if (queue) queue.push(message)
    else this.#keep(threadId, message)
  }

  #keep(threadId: string, message: ThreadMessage): void {
    const kept = this.#unheard.get(threadId) ?? []
    this.#unheard.set(threadId, kept)
    // A request is never dropped: the agent waits for its answer.
    if (kept.length < MAX_UNHEARD || message.request) kept.push(message)
  }

  #take(threadId: string): ThreadMessage[] {
    const kept = this.#unheard.get(threadId) ?? []
    this.#unheard.delete(threadId)
    return kept
  }

  #threadOf(params: unknown): string | undefined {
    const { threadId, thread } = asObject(params)
    const { id: startedId, parentThreadId } = asObject(thread)
    const id = threadId ?? startedId
    if (typeof id !== 'string') return undefined
    if (typeof parentThreadId === 'string') this.#parents.set(id, this.#rootOf(parentThreadId))
    return this.#rootOf(id)
  }

  #rootOf(threadId: string): string {
    return this.#parents.get(threadId) ?? threadId
  }
}

/** What an app-server says about itself. No thread has this id. */
const ABOUT_NONE = ''
const MAX_UNHEARD = 100

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
