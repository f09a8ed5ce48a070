/** Many writers, one reader. What is pushed before the reader comes is kept; after `end` the reader finishes. */
export class AsyncQueue<T> implements AsyncIterable<T> {
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
    while (true) {
      while (this.#next < this.#items.length) {
        const item = this.#items[this.#next++] as T
        if (this.#next === this.#items.length) this.#reset()
        yield item
      }
      if (this.#ended) return
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
      this.#wake = null
    }
  }

  #reset(): void {
    this.#items = []
    this.#next = 0
  }
}
