import { OneAfterTheOther } from '@chirality/disk'
import { write } from './fleet-files.ts'

/** A file that is written again and again, one time after the other: two at once would take each other's new file away. */
export class SavedText {
  readonly #file: string
  readonly #text: () => string
  readonly #writes = new OneAfterTheOther()
  #next: Promise<void> | undefined

  constructor(file: string, text: () => string) {
    this.#file = file
    this.#text = text
  }

  /** Resolves when what is so now is on the disk. Who comes while it is written shares the next time. */
  save(): Promise<void> {
    this.#next ??= this.#writes.run(() => {
      this.#next = undefined
      return write(this.#file, this.#text())
    })
    return this.#next
  }
}
