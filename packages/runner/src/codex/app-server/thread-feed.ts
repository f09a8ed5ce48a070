import type { RpcId, RpcRequest } from '../../process/json-rpc.ts'
import type { NewsPlace, ThreadMessage } from './thread-message.ts'

/** Reads messages from a spool again, in order. */
export interface SpoolCursor {
  /** The next message that begins before `end`. Undefined if there is none. */
  next(end: number): ThreadMessage | undefined
  close(): void
}

export interface ThreadFeedOptions {
  openCursor(offset: number): SpoolCursor | null
  /** Offset up to which the messages of the spool were passed on. */
  position(): number
  isOurs(message: ThreadMessage): boolean
  place: NewsPlace
}

/**
 * The messages of one thread for one reader. Waiting messages are kept in memory up to a limit; beyond it they are read
 * from the spool again.
 */
export class ThreadFeed {
  readonly place: NewsPlace
  readonly #options: ThreadFeedOptions
  #waiting: ThreadMessage[]
  #next = 0
  #bytes = 0
  #behind: SpoolCursor | null = null
  /** Requests that the reader has not taken yet. */
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

  /** Called when there may be a message to take. */
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

  /**
   * The waiting messages, or why there are none: `end` is final, `later` means a busy moment, `nothing` lasts until the
   * next message.
   */
  take(): ThreadMessage | 'nothing' | 'later' | 'end' {
    const taken = this.#takeNext()
    if (typeof taken !== 'string' && taken.request) this.#unanswered.delete(taken.request.id)
    return taken
  }

  get isEmpty(): boolean {
    return this.#behind === null && this.#next === this.#waiting.length
  }

  /** The process has exited: waiting messages can still be taken. */
  end(): void {
    this.#ended = true
    this.#onNews()
  }

  /** The reader leaves. Returns the requests that it has not taken: the agent waits for an answer to each. */
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
        // All of the spool is read, and no message can arrive between this check and the next push.
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
/** Messages of other threads lie between; a long scan must not block the event loop. */
const MAX_LOOKS = 1000
