import { Pulse } from './pulse.ts'

/**
 * The files that grow all the time. Each of a few is announced line by line, at once; of many, the announcements would cost more
 * than the lines.
 */
export class HotFiles {
  /** In which many are looked at. */
  readonly pulse = new Pulse()
  readonly #files = new Set<object>()

  get areMany(): boolean {
    return this.#files.size > FEW
  }

  add(file: object): void {
    this.#files.add(file)
  }

  remove(file: object): void {
    this.#files.delete(file)
  }
}

/** As many as a person follows at the same time. */
const FEW = 4
