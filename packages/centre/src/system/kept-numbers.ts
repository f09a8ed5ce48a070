import { changeUserFile, readUserFile, writeUserFile } from './user-files.ts'

/**
 * A number for each session, in one file of the user's data folder, such as the last read event. Read
 * under a lock before each change, because several servers of one user may write it; an unreadable file counts as empty.
 */
export class KeptNumbers {
  readonly #home: string
  readonly #file: string

  constructor(home: string, file: string) {
    this.#home = home
    this.#file = file
  }

  async all(): Promise<Record<string, number>> {
    return Object.fromEntries(await this.#read())
  }

  async get(sessionId: string): Promise<number | undefined> {
    return (await this.#read()).get(sessionId)
  }

  /** An existing number stays if it is larger. */
  raise(sessionId: string, value: number): Promise<void> {
    return this.#change(sessionId, known => Math.max(known ?? 0, value))
  }

  set(sessionId: string, value: number): Promise<void> {
    return this.#change(sessionId, () => value)
  }

  remove(sessionId: string): Promise<void> {
    return this.#change(sessionId, () => undefined)
  }

  #change(sessionId: string, next: (known: number | undefined) => number | undefined): Promise<void> {
    const write = async () => {
      const numbers = await this.#read()
      const known = numbers.get(sessionId)
      const value = next(known)
      if (value === known) return
      numbers.delete(sessionId)
      if (value !== undefined) numbers.set(sessionId, value)
      const kept = [...numbers].slice(-MAX_SESSIONS)
      await writeUserFile(this.#home, this.#file, `${JSON.stringify(kept)}\n`)
    }
    return changeUserFile(this.#home, this.#file, write)
  }

  async #read(): Promise<Map<string, number>> {
    const text = await readUserFile(this.#home, this.#file).catch(() => undefined)
    return new Map(parseNumbers(text ?? '[]'))
  }
}

/** The oldest are dropped first. */
const MAX_SESSIONS = 5000

function parseNumbers(text: string): [string, number][] {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value.filter(isNumber) : []
  } catch {
    return []
  }
}

function isNumber(entry: unknown): entry is [string, number] {
  return Array.isArray(entry) && typeof entry[0] === 'string' && Number.isSafeInteger(entry[1])
}
