/** Listeners for changes of a store outside of React. */
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
