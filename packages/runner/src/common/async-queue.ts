/** Many writers, one reader. What is pushed before the reader comes is kept; after `end` the reader finishes. */
export class AsyncQueue<T extends object> implements AsyncIterable<T> {
  #items: T[] = []
  #next = 0
  #ended = false
  #wake: (() => void) | null = null

  push(item: T): void {
    if (this.#ended) return
    this.#items.push(item)
    this.#wake?.()
  }

  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    do {
      for (let item = this.take(); item !== undefined; item = this.take()) yield item
    } while (await this.more())
  }

  /** The next item, if it is there already. */
  take(): T | undefined {
    if (this.#next === this.#items.length) return undefined
    const item = this.#items[this.#next++] as T
    if (this.#next === this.#items.length) this.#reset()
    return item
  }

  /** What `take` would give. */
  peek(): T | undefined {
    return this.#items[this.#next]
  }

  /** All that is there already. */
  takeAll(): T[] {
    const items = this.#items.slice(this.#next)
    this.#reset()
    return items
  }

  /** To be called when there is nothing to take. False when nothing more comes. */
  async more(): Promise<boolean> {
    if (this.#next < this.#items.length) return true
    if (this.#ended) return false
    await new Promise<void>(resolve => {
      this.#wake = resolve
    })
    this.#wake = null
    return true
  }

  #reset(): void {
    this.#items = []
    this.#next = 0
  }
}
