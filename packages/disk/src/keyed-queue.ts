/** Runs tasks with the same key in sequence, and those with different keys in parallel. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const result = before.then(task, task)
    const settled = result.catch(() => {})
    this.#last.set(key, settled)
    void settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    })
    return result
  }

  /** Resolves when all tasks that were given so far have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#last.values())
  }
}
