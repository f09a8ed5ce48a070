/** A queue with many writers and one reader. Items are kept until they are read; after `end` the reader finishes. */
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

  /** The next item, if there is one. */
  take(): T | undefined {
    if (this.#next === this.#items.length) return undefined
    const item = this.#items[this.#next++] as T
    if (this.#next === this.#items.length) this.#reset()
    return item
  }

  /** The item that `take` would return. */
  peek(): T | undefined {
    return this.#items[this.#next]
  }

  takeAll(): T[] {
    const items = this.#items.slice(this.#next)
    this.#reset()
    return items
  }

  /** Call it when the queue is empty. False when no more items will come. */
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
