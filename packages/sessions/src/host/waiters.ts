/** Those who wait until something is so. */
export class Waiters {
  readonly #checks = new Set<() => void>()

  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve()
    return new Promise(resolve => {
      const check = () => {
        if (!condition()) return
        this.#checks.delete(check)
        resolve()
      }
      this.#checks.add(check)
    })
  }

  /** Something changed. */
  wake(): void {
    for (const check of [...this.#checks]) check()
  }
}
