import { LoopBook, loopError } from '@chirality/loops'

/** The loops of each project, opened once. */
export class LoopBooks {
  readonly #books = new Map<string, LoopBook>()

  /** Undefined if the folder of the project is gone. */
  find(root: string): LoopBook | undefined {
    const known = this.#books.get(root)
    if (known !== undefined) return known
    try {
      const book = new LoopBook(root)
      this.#books.set(root, book)
      return book
    } catch {
      return undefined
    }
  }

  require(root: string): LoopBook {
    const book = this.find(root)
    if (book === undefined) throw loopError('loop-missing', `The folder ${root} does not exist.`)
    return book
  }
}
