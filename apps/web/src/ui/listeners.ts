/** Those who want to know when a store outside of React has changed. */
export class Listeners {
  readonly #all = new Set<() => void>()

  /** Bound: React takes it as it is. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#all.add(listener)
    return () => this.#all.delete(listener)
  }

  tell(): void {
    for (const listener of this.#all) listener()
  }
}
