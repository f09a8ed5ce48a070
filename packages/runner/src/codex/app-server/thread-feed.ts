import type { RpcId, RpcRequest } from './json-rpc.ts'
import type { NewsPlace, ThreadMessage } from './thread-message.ts'

/** Reads messages of a spool again, one after the other. */
export interface SpoolCursor {
  /** The next one that begins before `end`. Undefined when there is none. */
  next(end: number): ThreadMessage | undefined
  close(): void
}

export interface ThreadFeedOptions {
  openCursor(offset: number): SpoolCursor | null
  /** Up to where the spool has been told. */
  position(): number
  isOurs(message: ThreadMessage): boolean
  place: NewsPlace
}

/**
 * The news of one thread, for one slow or quick reader. What waits is kept in memory up to a limit; beyond it the
 * spool is the memory, and is read again.
 */
export class ThreadFeed {
  readonly place: NewsPlace
  readonly #options: ThreadFeedOptions
  #waiting: ThreadMessage[]
  #next = 0
  #bytes = 0
  #behind: SpoolCursor | null = null
  /** Requests that nobody has taken yet. */
  readonly #unanswered = new Map<RpcId, RpcRequest>()
  #ended = false
  #onNews: () => void = () => {}

  constructor(first: ThreadMessage[], options: ThreadFeedOptions) {
    this.#waiting = first
    this.#bytes = first.reduce((bytes, message) => bytes + message.bytes, 0)
    for (const message of first) this.#noteRequest(message)
    this.#options = options
    this.place = options.place
  }

  /** Called when there may be something to take. */
  set onNews(listener: () => void) {
    this.#onNews = listener
  }

  push(message: ThreadMessage): void {
    if (this.#ended) return
    this.#noteRequest(message)
    if (this.#behind === null && !this.#fits(message)) this.#behind = this.#options.openCursor(message.offset)
    if (this.#behind === null) this.#add(message)
    this.#onNews()
  }

  /** What is waiting, or why there is nothing: `end` is for good, `later` for a busy moment, `nothing` until there is news. */
  take(): ThreadMessage | 'nothing' | 'later' | 'end' {
    const taken = this.#takeNext()
    if (typeof taken !== 'string' && taken.request) this.#unanswered.delete(taken.request.id)
    return taken
  }

  get isEmpty(): boolean {
    return this.#behind === null && this.#next === this.#waiting.length
  }

  /** The process is gone: what waits can still be taken. */
  end(): void {
    this.#ended = true
    this.#onNews()
  }

  /** Nobody reads on. Returns the requests that were not taken: the agent waits for an answer to each. */
  close(): RpcRequest[] {
    this.end()
    this.#behind?.close()
    this.#behind = null
    this.#reset()
    const unanswered = [...this.#unanswered.values()]
    this.#unanswered.clear()
    return unanswered
  }

  #noteRequest({ request }: ThreadMessage): void {
    if (request) this.#unanswered.set(request.id, request)
  }

  #takeNext(): ThreadMessage | 'nothing' | 'later' | 'end' {
    const message = this.#shift()
    if (message) return message
    if (this.#behind) return this.#takeAgain(this.#behind)
    return this.#ended ? 'end' : 'nothing'
  }

  #takeAgain(cursor: SpoolCursor): ThreadMessage | 'nothing' | 'later' | 'end' {
    for (let looked = 0; looked < MAX_LOOKS; looked += 1) {
      const message = cursor.next(this.#options.position())
      if (message === undefined) {
        // Level with the spool, and nothing can be told between this look and the next push.
        cursor.close()
        this.#behind = null
        return this.#ended ? 'end' : 'nothing'
      }
      if (this.#options.isOurs(message)) return message
    }
    return 'later'
  }

  #fits({ bytes }: ThreadMessage): boolean {
    return this.#next === this.#waiting.length || this.#bytes + bytes <= MAX_WAITING_BYTES
  }

  #add(message: ThreadMessage): void {
    this.#waiting.push(message)
    this.#bytes += message.bytes
  }

  #shift(): ThreadMessage | undefined {
    const message = this.#waiting[this.#next]
    if (!message) return undefined
    this.#next += 1
    this.#bytes -= message.bytes
    if (this.#next === this.#waiting.length) this.#reset()
    return message
  }

  #reset(): void {
    this.#waiting = []
    this.#next = 0
    this.#bytes = 0
  }
}

const MAX_WAITING_BYTES = 1024 * 1024
/** The news of others lies between; the event loop is not to wait for us to have gone through it. */
const MAX_LOOKS = 1000
