import type { LiveClient } from '@chirality/client'
import type { Envelope } from '@chirality/core'
import { SessionStore, type Wanted } from './session-store.ts'

/** Sessions that were looked at lately stay in memory, so that going back to one is at once. */
const KEPT_SESSIONS = 4
/** Only the end of a longer log is loaded, and pages before it as the user scrolls there. */
const LONG_LOG_EVENTS = 2000
const TAIL_EVENTS = 400
const TAIL_BYTES = 250_000
const MAX_PAGE_EVENTS = 2000
const MAX_PAGE_BYTES = 1_000_000

type SessionSource = Pick<LiveClient, 'calls' | 'followSession'>

/** Opens sessions and follows them while somebody looks. */
export class SessionHub {
  readonly #live: SessionSource
  readonly #onError: (message: string) => void
  readonly #entries = new Map<string, Entry>()

  constructor(live: SessionSource, onError: (message: string) => void) {
    this.#live = live
    this.#onError = onError
  }

  store(sessionId: string): SessionStore {
    return this.#entry(sessionId).store
  }

  /** Follows the session until the function that is returned is called. */
  follow(sessionId: string, lastSeq = 0): () => void {
    const entry = this.#entry(sessionId)
    entry.followers += 1
    if (entry.followers === 1) this.#start(sessionId, entry, lastSeq)
    return () => {
      entry.followers -= 1
      if (entry.followers > 0) return
      entry.stop?.()
      entry.stop = null
      this.#forgetOld()
    }
  }

  #start(sessionId: string, entry: Entry, lastSeq: number): void {
    const { store } = entry
    if (store.lastSeq === 0 && lastSeq === 0) store.markLoaded()
    if (store.lastSeq > 0 || lastSeq <= LONG_LOG_EVENTS) {
      entry.stop = this.#watch(sessionId, store)
      return
    }
    const asked = new AbortController()
    entry.stop = () => asked.abort()
    void this.#showTail(sessionId, store).then(() => {
      if (!asked.signal.aborted) entry.stop = this.#watch(sessionId, store)
    })
  }

  #load(sessionId: string, entry: Entry, wanted: Wanted): void {
    if (entry.loading === 'whole' || entry.loading === wanted) return
    entry.loading = wanted
    if (wanted === 'page') void this.#loadPage(sessionId, entry)
    else if (entry.stop) this.#loadWhole(sessionId, entry)
  }

  /** Loads as many events as are there already: a log that is scrolled through is folded a few times, not once a page. */
  async #loadPage(sessionId: string, entry: Entry): Promise<void> {
    const { store } = entry
    const limit = Math.min(Math.max(TAIL_EVENTS, store.heldEvents), MAX_PAGE_EVENTS)
    const maxBytes = Math.min(Math.round((TAIL_BYTES * limit) / TAIL_EVENTS), MAX_PAGE_BYTES)
    try {
      const page = await this.#before(sessionId, store.firstSeq, limit, maxBytes)
      if (entry.loading === 'page') await store.prepend(page)
    } catch (error) {
      this.#onError(error instanceof Error ? error.message : String(error))
    } finally {
      if (entry.loading === 'page') entry.loading = null
    }
  }

  #loadWhole(sessionId: string, entry: Entry): void {
    entry.stop?.()
    entry.store.restart()
    entry.stop = this.#watch(sessionId, entry.store)
  }

  #watch(sessionId: string, store: SessionStore): () => void {
    return this.#live.followSession(sessionId, store.lastSeq, {
      onEnvelopes: envelopes => store.push(envelopes),
      onError: this.#onError,
    })
  }

  /** Never rejects: without it the log is read from its beginning. */
  async #showTail(sessionId: string, store: SessionStore): Promise<void> {
    try {
      store.startAtEnd(await this.#before(sessionId, undefined, TAIL_EVENTS, TAIL_BYTES))
    } catch {
      // What is wrong is told by whoever reads the whole.
    }
  }

  /** Events before `before`, oldest first: at most `limit`, and at least one where they would be more than `maxBytes`. */
  async #before(sessionId: string, before: number | undefined, limit: number, maxBytes: number) {
    const page = await this.#live.calls.sessions.history.query({ sessionId, before, limit, maxBytes })
    // tRPC makes fields of unknown type optional on the wire; the server always sends them.
    return page as Envelope[]
  }

  #entry(sessionId: string): Entry {
    const known = this.#entries.get(sessionId)
    const entry = known ?? this.#newEntry(sessionId)
    this.#entries.delete(sessionId)
    this.#entries.set(sessionId, entry)
    return entry
  }

  #newEntry(sessionId: string): Entry {
    const entry: Entry = { store: new SessionStore(sessionId), followers: 0, stop: null, loading: null }
    entry.store.onWanted = wanted => this.#load(sessionId, entry, wanted)
    return entry
  }

  #forgetOld(): void {
    for (const [sessionId, { followers }] of this.#entries) {
      if (this.#entries.size <= KEPT_SESSIONS) return
      if (followers === 0) this.#entries.delete(sessionId)
    }
  }
}

interface Entry {
  store: SessionStore
  followers: number
  stop: (() => void) | null
  /** Load in progress of events before the end. */
  loading: Wanted | null
}
