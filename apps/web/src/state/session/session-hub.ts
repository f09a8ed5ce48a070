import type { ServerApi } from '../server/server-api.ts'
import { SessionStore } from './session-store.ts'

/** Sessions that were looked at lately stay in memory, so that going back to one is at once. */
const KEPT_SESSIONS = 4
/** The end of a longer log is shown before all of it is there. */
const TAIL_EVENTS = 400
const TAIL_BYTES = 250_000
const LONG_LOG_EVENTS = 2000

/** Opens sessions and follows them while somebody looks. */
export class SessionHub {
  readonly #api: ServerApi
  readonly #onError: (message: string) => void
  readonly #entries = new Map<string, Entry>()

  constructor(api: ServerApi, onError: (message: string) => void) {
    this.#api = api
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
    // The rest comes after it: beside it, it would take the line away from what is looked at.
    const asked = new AbortController()
    entry.stop = () => asked.abort()
    void this.#showTail(sessionId, store).then(() => {
      if (!asked.signal.aborted) entry.stop = this.#watch(sessionId, store)
    })
  }

  #watch(sessionId: string, store: SessionStore): () => void {
    return this.#api.watchSession(sessionId, store.lastSeq, {
      onEnvelopes: envelopes => store.push(envelopes),
      onError: this.#onError,
    })
  }

  /** Never rejects: without it the log is read from its beginning. */
  async #showTail(sessionId: string, store: SessionStore): Promise<void> {
    try {
      store.preview(await this.#api.readLogBefore(sessionId, undefined, TAIL_EVENTS, TAIL_BYTES))
    } catch {
      // What is wrong is told by whoever reads the whole.
    }
  }

  #entry(sessionId: string): Entry {
    const known = this.#entries.get(sessionId)
    const entry = known ?? { store: new SessionStore(sessionId), followers: 0, stop: null }
    this.#entries.delete(sessionId)
    this.#entries.set(sessionId, entry)
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
}
