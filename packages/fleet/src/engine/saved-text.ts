import { OneAfterTheOther } from '@chirality/disk'
import { write } from './fleet-files.ts'

/**
 * A file that is saved repeatedly, one write at a time: two writes at once would remove each other's temporary file.
 */
export class SavedText {
  readonly #file: string
  readonly #text: () => string
  readonly #writes = new OneAfterTheOther()
  #next: Promise<void> | undefined

  constructor(file: string, text: () => string) {
    this.#file = file
    this.#text = text
  }

  /** Resolves when the current text is on the disk. Callers that come during a write share the next one. */
  save(): Promise<void> {
    this.#next ??= this.#writes.run(() => {
      this.#next = undefined
      return write(this.#file, this.#text())
    })
    return this.#next
  }
}
