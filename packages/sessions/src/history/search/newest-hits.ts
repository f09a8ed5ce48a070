import type { SearchHit } from './search-hit.ts'

/** The newest of all hits, and no more of them than are wanted. */
export class NewestHits {
  readonly #limit: number
  #hits: SearchHit[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  add(hit: SearchHit): void {
    this.#hits.push(hit)
    if (this.#hits.length >= this.#limit * 2) this.#hits = this.newest()
  }

  /** Whether nothing from before `time` could still be among them. */
  isFullAt(time: number): boolean {
    if (this.#hits.length < this.#limit) return false
    this.#hits = this.newest()
    const last = this.#hits.at(-1)
    return last !== undefined && Date.parse(last.at) > time
  }

  newest(): SearchHit[] {
    return this.#hits.toSorted(compareHits).slice(0, this.#limit)
  }
}

function compareHits(a: SearchHit, b: SearchHit): number {
  return Date.parse(b.at) - Date.parse(a.at) || b.seq - a.seq
}
