import { within } from './within.ts'

/** Folders in which a person's change is in progress: no turn and no second change starts there. */
export class HeldFolders {
  readonly #held = new Map<string, Promise<void>>()

  /**
   * Runs `work` while no turn starts in these folders and no other change holds one of them. `check` runs right before
   * and throws if an agent works there already: a turn counts as started before it waits for the folder.
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

  /** Resolves when the folder is free, or the turn is stopped. A change in progress has its own time limits. */
  async free(folder: string, signal: AbortSignal): Promise<void> {
    for (let held = this.#held.get(folder); held && !signal.aborted; held = this.#held.get(folder))
      await within(held, { signal })
  }
}
