export interface SubscriptionSource<T> {
  lastSeq(): number
  /** Some of the events after `seq`, and the number of the last one; empty only if there are none. */
  after(seq: number): { batch: T; lastSeq: number } | undefined
  onEnd(): void
}

interface Waiter<T> {
  resolve: (result: IteratorResult<T>) => void
  reject: (error: unknown) => void
}

/**
 * One reader of a log. Its only state is a cursor: for a slow reader the unread events stay in the file, not in memory.
 */
export class Subscription<T> implements AsyncIterableIterator<T> {
  readonly #source: SubscriptionSource<T>
  #cursor: number
  #waiting: Waiter<T>[] = []
  /** The log gets no more events. The remaining ones are still delivered. */
  #ending = false
  #ended = false

  constructor(source: SubscriptionSource<T>, afterSeq: number) {
    this.#source = source
    this.#cursor = afterSeq
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<T>> {
    const batch = this.#take()
    if (batch !== undefined) return { done: false, value: batch }
    if (this.#ending) this.end()
    if (this.#ended) return { done: true, value: undefined }
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  async return(): Promise<IteratorResult<T>> {
    this.end()
    return { done: true, value: undefined }
  }

  /** New events are available. */
  wake(): void {
    for (let waiter = this.#waiting[0]; waiter !== undefined; waiter = this.#waiting[0]) {
      try {
        const value = this.#take()
        if (value === undefined) return
        waiter.resolve({ done: false, value })
      } catch (error) {
        waiter.reject(error)
      }
      this.#waiting.shift()
    }
  }

  finish(): void {
    this.#ending = true
    if (this.#waiting.length > 0) this.end()
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    for (const { resolve } of this.#waiting) resolve({ done: true, value: undefined })
    this.#waiting = []
    this.#source.onEnd()
  }

  #take(): T | undefined {
    if (this.#ended || this.#cursor >= this.#source.lastSeq()) return undefined
    const next = this.#source.after(this.#cursor)
    if (next === undefined) return undefined
    this.#cursor = next.lastSeq
    return next.batch
  }
}
