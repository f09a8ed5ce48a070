/** One waiter, many notifiers. A notice that arrives while nobody waits is kept, so none is lost. */
export class Wake {
  #pending = false
  #resolve: (() => void) | undefined

  notify(): void {
    if (this.#resolve === undefined) this.#pending = true
    else this.#resolve()
  }

  /** Resolves at the next notice, or after `timeoutMs`. */
  wait(timeoutMs?: number): Promise<void> {
    if (this.#pending) {
      this.#pending = false
      return Promise.resolve()
    }
    return new Promise(resolve => {
      let timer: NodeJS.Timeout | undefined
      this.#resolve = () => {
        clearTimeout(timer)
        this.#resolve = undefined
        resolve()
      }
      if (timeoutMs !== undefined) timer = setTimeout(this.#resolve, timeoutMs)
    })
  }
}
