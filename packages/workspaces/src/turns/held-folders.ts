import { within } from './within.ts'

/** Folders in which a person's change is under way: no turn begins there, and no second change. */
export class HeldFolders {
  readonly #held = new Map<string, Promise<void>>()

  /**
   * Runs `work` while no turn begins in these folders and nobody else holds one of them. `check` is called right before,
   * and throws if an agent is at work there already: a turn counts as begun before it comes to wait for the folder.
   */
  async hold<T>(folders: readonly string[], check: () => void, work: () => Promise<T>): Promise<T> {
    for (;;) {
      const held = folders.map(folder => this.#held.get(folder)).find(Boolean)
      if (held === undefined) break
      await held
    }
    check()
    let release = () => {}
    const over = new Promise<void>(resolve => {
      release = resolve
    })
    for (const folder of folders) this.#held.set(folder, over)
    try {
      return await work()
    } finally {
      for (const folder of folders) this.#held.delete(folder)
      release()
    }
  }

  /** A change that is under way has its own limits of time; a turn that is stopped does not wait for it. */
  async free(folder: string, signal: AbortSignal): Promise<void> {
    for (let held = this.#held.get(folder); held && !signal.aborted; held = this.#held.get(folder))
      await within(held, { signal })
  }
}
