import { concernsThreads } from '@chirality/core'
import type { RpcRequest } from '../../process/json-rpc.ts'
import { ThreadFamilies } from './thread-families.ts'
import { type SpoolCursor, ThreadFeed } from './thread-feed.ts'
import type { ThreadMessage } from './thread-message.ts'

/** Passes an app-server's messages to the turn of the thread that they are about. */
export class ThreadNews {
  readonly #openCursor: (offset: number) => SpoolCursor | null
  readonly #feeds = new Map<string, ThreadFeed>()
  /** Messages from before the first listener: MCP servers start, and warnings arrive, before the first turn. */
  readonly #unheard = new Map<string, Unheard>()
  readonly #threads = new ThreadFamilies()
  /** Threads that have had a turn. A request that they send between turns has no turn to receive it. */
  readonly #hadTurn = new Set<string>()
  /** Offset up to which all messages were passed on. */
  #position = 0
  #ended = false

  /**
   * The cursor reads messages again that a slow listener has not taken. Without a cursor all of them stay in memory.
   */
  constructor(openCursor: (offset: number) => SpoolCursor | null = () => null) {
    this.#openCursor = openCursor
  }

  /** Null while another turn of the thread listens: its messages cannot be divided between two. */
  listen(threadId: string): ThreadFeed | null {
    if (this.#feeds.has(threadId)) return null
    const first = [...this.#take(ABOUT_NONE), ...this.#take(threadId)].sort((a, b) => a.offset - b.offset)
    const feed = new ThreadFeed(first, {
      openCursor: this.#openCursor,
      position: () => this.#position,
      isOurs: ({ raw }) => this.#threads.isFor(threadId, raw),
      place: {
        unheard: first.map(({ offset }) => offset),
        from: this.#position,
        children: this.#threads.childrenOf(threadId),
      },
    })
    if (this.#ended) feed.end()
    this.#feeds.set(threadId, feed)
    return feed
  }

  /** The turn is over. Returns the requests that it has not taken, which have to be refused. */
  leave(threadId: string): RpcRequest[] {
    const feed = this.#feeds.get(threadId)
    this.#feeds.delete(threadId)
    this.#hadTurn.add(threadId)
    return feed?.close() ?? []
  }

  /** The thread was unloaded. */
  forget(threadId: string): void {
    this.#hadTurn.delete(threadId)
  }

  /** False if no turn will receive it: a request has to be refused then, or the agent waits forever. */
  tell(message: ThreadMessage): boolean {
    this.#position = message.offset + message.bytes + 1
    const threadId = this.#threads.rootOf(message.raw)
    if (threadId !== undefined) return this.#deliver(threadId, message)
    if (message.request) return false
    if (this.#feeds.size === 0 && concernsThreads(message.raw, [])) return this.#keep(ABOUT_NONE, message)
    const hearers = [...this.#feeds].filter(([id]) => this.#threads.isFor(id, message.raw))
    for (const [, feed] of hearers) feed.push(message)
    return hearers.length > 0
  }

  /** The process has exited. */
  end(): void {
    this.#ended = true
    for (const feed of this.#feeds.values()) feed.end()
  }

  #deliver(threadId: string, message: ThreadMessage): boolean {
    const feed = this.#feeds.get(threadId)
    if (!feed && message.request && this.#hadTurn.has(threadId)) return false
    if (!feed) return this.#keep(threadId, message)
    feed.push(message)
    return true
  }

  /** False if the buffer is full. */
  #keep(threadId: string, message: ThreadMessage): boolean {
    const kept = this.#unheard.get(threadId) ?? { messages: [], bytes: 0 }
    this.#unheard.set(threadId, kept)
    const hasRoom = kept.messages.length < MAX_UNHEARD && kept.bytes < MAX_UNHEARD_BYTES
    if (!hasRoom) return false
    kept.messages.push(message)
    kept.bytes += message.bytes
    return true
  }

  #take(threadId: string): ThreadMessage[] {
    const { messages } = this.#unheard.get(threadId) ?? { messages: [] }
    this.#unheard.delete(threadId)
    return messages
  }
}

interface Unheard {
  messages: ThreadMessage[]
  bytes: number
}

/** Stands for messages about the server itself. No thread has this id. */
const ABOUT_NONE = ''
const MAX_UNHEARD = 100
const MAX_UNHEARD_BYTES = 1024 * 1024
