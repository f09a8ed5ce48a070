import { LoopBook, type LoopState, loopError } from '@chirality/loops'

/** The loops of each project, opened once. A fault of one project is told, and is none of the others. */
export class LoopBooks {
  readonly #books = new Map<string, LoopBook>()
  readonly #home: string
  readonly #onFault: (error: unknown) => void

  /** `home`: the user's data folder, where loops are. */
  constructor(home: string, onFault: (error: unknown) => void) {
    this.#home = home
    this.#onFault = onFault
  }

  /** Undefined if the folder of the project is gone. */
  find(root: string): LoopBook | undefined {
    const known = this.#books.get(root)
    if (known !== undefined) return known
    try {
      const book = new LoopBook(root, this.#home, once(this.#onFault))
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

  /** None if the folder of the project is gone, or cannot be read. */
  async list(root: string): Promise<LoopState[]> {
    return this.inProject(root, [], book => book.list())
  }

  async inProject<T>(root: string, otherwise: T, work: (book: LoopBook) => Promise<T>): Promise<T> {
    const book = this.find(root)
    if (book === undefined) return otherwise
    return work(book).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      this.#onFault(new Error(`Loops of the project ${root}: ${why}`, { cause: error }))
      return otherwise
    })
  }
}

/** The page asks again and again. */
function once(tell: (error: Error) => void): (error: Error) => void {
  let last = ''
  return error => {
    if (error.message !== last) tell(error)
    last = error.message
  }
}
