/** Runs tasks in the order in which they were given, also after one that failed. */
export class OneAfterTheOther {
  #last: Promise<unknown> = Promise.resolve()

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task)
    this.#last = result.catch(() => {})
    return result
  }

  /** Resolves when all tasks that were given so far have ended. */
  async settled(): Promise<void> {
    await this.#last
  }
}
