import { Listeners } from '../../ui/listeners.ts'
/** A piece of something long that grows at its end. */
export interface Slice<T, C> {
  /** Oldest first. */
  items: readonly T[]
  /** Where what comes before it ends; null at the beginning. */
  before: C | null
  /** Where to go on; null when there is nothing to go on from yet. */
  after: C | null
  more: boolean
  notes?: readonly string[]
}

export interface TwoWaySource<T, C> {
  last(): Promise<Slice<T, C>>
  before(place: C): Promise<Slice<T, C>>
  after(place: C): Promise<Slice<T, C>>
  keyOf(item: T): string
  /** The place before which everything older lies. */
  placeOf(item: T): C
  /** About how many characters it keeps in memory. */
  weightOf(item: T): number
}

export interface TwoWayState<T> {
  items: readonly T[]
  /** The first piece is there. */
  loaded: boolean
  hasEarlier: boolean
  /** Why there is nothing, or nothing new. */
  problem: string | null
  notes: readonly string[]
}

/** What is kept while it grows; more is forgotten at the other end, from where it can be read again. */
export const MAX_KEPT_ITEMS = 20_000
export const MAX_KEPT_CHARS = 16 * 1024 * 1024

/** The end of something long: read back as far as somebody wants, and on as it grows. Outside React. */
export class TwoWayList<T, C> {
  readonly #source: TwoWaySource<T, C>
  readonly #listeners = new Listeners()
  #state: TwoWayState<T> = { items: [], loaded: false, hasEarlier: false, problem: null, notes: [] }
  #before: C | null = null
  #after: C | null = null
  #reading: Promise<void> = Promise.resolve()
  #isRefreshing = false
  #isStale = false
  #failures = 0

  constructor(source: TwoWaySource<T, C>) {
    this.#source = source
  }

  readonly get = (): TwoWayState<T> => this.#state

  readonly subscribe = this.#listeners.subscribe

  /** There may be more at the end. However often it is called, one read runs at a time, and the last call is heard. */
  async refresh(): Promise<void> {
    this.#isStale = true
    if (this.#isRefreshing) return
    this.#isRefreshing = true
    while (this.#isStale) {
      this.#isStale = false
      await this.#inTurn(() => this.#readOn())
    }
    this.#isRefreshing = false
  }

  /** Reads the piece before the first one. Resolves with how many items it had. */
  async earlier(): Promise<number> {
    let count = 0
    await this.#inTurn(async () => {
      if (this.#before === null) return
      const slice = await this.#source.before(this.#before)
      count = slice.items.length
      this.#before = slice.before
      this.#set({ items: [...slice.items, ...this.#state.items] }, slice.notes)
    })
    return count
  }

  /** One after the other: each goes on where the one before it ended. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    const tried = async () => {
      try {
        await work()
        this.#failures = 0
      } catch (error) {
        this.#failures += 1
        // A place that is gone is gone for good: the end is read anew then.
        if (this.#failures > 1) this.#after = null
        this.#set({ problem: error instanceof Error ? error.message : String(error) })
      }
    }
    this.#reading = this.#reading.then(tried)
    return this.#reading
  }

  async #readOn(): Promise<void> {
    if (this.#after === null) {
      const slice = await this.#source.last()
      this.#before = slice.before
      this.#after = slice.after
      this.#set({ items: slice.items, loaded: true, problem: null }, slice.notes)
      return
    }
    for (let more = true; more; ) {
      const slice = await this.#source.after(this.#after)
      this.#after = slice.after ?? this.#after
      more = slice.more
      if (slice.items.length > 0 || this.#state.problem !== null)
        this.#set({ items: this.#withNew(slice.items), problem: null }, slice.notes)
    }
  }

  /** A line that was not finished comes again, and takes its own place. */
  #withNew(added: readonly T[]): readonly T[] {
    const source = this.#source
    const { items } = this.#state
    const [last, first] = [items.at(-1), added[0]]
    const isAgain = last !== undefined && first !== undefined && source.keyOf(last) === source.keyOf(first)
    return this.#forget([...(isAgain ? items.slice(0, -1) : items), ...added])
  }

  #forget(items: readonly T[]): readonly T[] {
    let kept = 0
    let first = items.length
    while (first > 0 && items.length - first < MAX_KEPT_ITEMS && kept < MAX_KEPT_CHARS) {
      first -= 1
      kept += this.#source.weightOf(items[first] as T)
    }
    const oldest = items[first]
    if (first === 0 || oldest === undefined) return items
    this.#before = this.#source.placeOf(oldest)
    return items.slice(first)
  }

  #set(changes: Partial<TwoWayState<T>>, notes: readonly string[] = []): void {
    const known = this.#state.notes
    const added = notes.filter(note => !known.includes(note))
    this.#state = {
      ...this.#state,
      ...changes,
      notes: added.length > 0 ? [...known, ...added] : known,
      hasEarlier: this.#before !== null,
    }
    this.#listeners.tell()
  }
}
