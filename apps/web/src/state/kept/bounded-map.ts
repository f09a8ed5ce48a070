/** A small map in local storage. The oldest entries go first; storage that is full or forbidden is no error. */
export class BoundedMap<T> {
  readonly #key: string
  readonly #maxEntries: number
  #entries: Map<string, T>

  constructor(key: string, maxEntries: number) {
    this.#key = key
    this.#maxEntries = maxEntries
    this.#entries = new Map(read(key) as [string, T][])
  }

  get(id: string): T | undefined {
    return this.#entries.get(id)
  }

  set(id: string, value: T): void {
    this.#entries.delete(id)
    this.#entries.set(id, value)
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) break
      this.#entries.delete(oldest)
    }
    this.#write()
  }

  delete(id: string): void {
    if (this.#entries.delete(id)) this.#write()
  }

  #write(): void {
    try {
      localStorage.setItem(this.#key, JSON.stringify([...this.#entries]))
    } catch {
      // Full or forbidden: it is kept for this page only.
    }
  }
}

function read(key: string): [string, unknown][] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
    if (!Array.isArray(value)) return []
    return value.filter(
      (entry): entry is [string, unknown] => Array.isArray(entry) && typeof entry[0] === 'string',
    )
  } catch {
    return []
  }
}
