import type { Envelope } from '@chirality/core'

export interface SubscriptionSource {
  lastSeq(): number
  /** Some of what comes after `seq`; never empty when there is something. */
  after(seq: number): Envelope[]
  onEnd(subscription: Subscription): void
}

interface Waiter {
  resolve: (result: IteratorResult<Envelope[]>) => void
  reject: (error: unknown) => void
}

/**
 * One reader of a log. It has a cursor and nothing else: however slow the reader, what it has not taken yet is in the
 * file and not in memory.
 */
export class Subscription implements AsyncIterableIterator<Envelope[]> {
  readonly #source: SubscriptionSource
  #cursor: number
  #waiting: Waiter[] = []
  /** The log gets no more events. What is there is still delivered. */
  #ending = false
  #ended = false

  constructor(source: SubscriptionSource, afterSeq: number) {
    this.#source = source
    this.#cursor = afterSeq
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Envelope[]>> {
    const batch = this.#take()
    if (batch !== undefined) return { done: false, value: batch }
    if (this.#ending) this.end()
    if (this.#ended) return { done: true, value: undefined }
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
  }

  async return(): Promise<IteratorResult<Envelope[]>> {
    this.end()
    return { done: true, value: undefined }
  }

  /** There is something new. */
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
    this.#source.onEnd(this)
  }

  #take(): Envelope[] | undefined {
    if (this.#ended || this.#cursor >= this.#source.lastSeq()) return undefined
    const batch = this.#source.after(this.#cursor)
    const last = batch.at(-1)
    if (last === undefined) return undefined
    this.#cursor = last.seq
    return batch
  }
}
