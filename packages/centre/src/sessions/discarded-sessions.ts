import { KeptNumbers } from '../system/kept-numbers.ts'

/** Long enough to see that it was the wrong one. */
export const UNDO_SECONDS = 60

export interface DiscardedOptions {
  /** The user's data folder. */
  home: string
  /** Deletes all files of a session. */
  deleteForGood: (sessionId: string) => Promise<void>
  undoMs?: number
}

/**
 * Sessions that a user deleted and can still restore. They are in no list and cannot be opened; after `UNDO_SECONDS`,
 * and when the server closes, their files are deleted. Stored outside of projects, where no agent or checkout writes:
 * only what the user discarded is deleted after a crash.
 */
export class DiscardedSessions {
  readonly #stored: KeptNumbers
  readonly #deleteForGood: (sessionId: string) => Promise<void>
  readonly #undoMs: number
  readonly #timers = new Map<string, NodeJS.Timeout>()

  constructor({ home, deleteForGood, undoMs = UNDO_SECONDS * 1000 }: DiscardedOptions) {
    this.#stored = new KeptNumbers(home, 'discarded-sessions.json')
    this.#deleteForGood = deleteForGood
    this.#undoMs = undoMs
  }

  has(sessionId: string): boolean {
    return this.#timers.has(sessionId)
  }

  /** Takes over the sessions that a server which was killed left. */
  async load(): Promise<void> {
    const now = Date.now()
    for (const [id, at] of Object.entries(await this.#stored.all()))
      this.#schedule(id, at + this.#undoMs - now)
  }

  /** It counts as discarded at once, while it is being written. */
  async add(sessionId: string): Promise<void> {
    this.#schedule(sessionId, this.#undoMs)
    try {
      await this.#stored.set(sessionId, Date.now())
    } catch (error) {
      this.#forget(sessionId)
      throw error
    }
  }

  /** False if it is too late. */
  async restore(sessionId: string): Promise<boolean> {
    if (!this.#forget(sessionId)) return false
    await this.#stored.remove(sessionId)
    return true
  }

  /** Deletes all of them now. One that cannot be deleted is tried again at the next start. */
  async close(): Promise<void> {
    await Promise.all([...this.#timers.keys()].map(id => this.#delete(id)))
  }

  #schedule(sessionId: string, ms: number): void {
    clearTimeout(this.#timers.get(sessionId))
    const timer = setTimeout(() => void this.#delete(sessionId), Math.max(0, ms))
    timer.unref()
    this.#timers.set(sessionId, timer)
  }

  #forget(sessionId: string): boolean {
    clearTimeout(this.#timers.get(sessionId))
    return this.#timers.delete(sessionId)
  }

  async #delete(sessionId: string): Promise<void> {
    clearTimeout(this.#timers.get(sessionId))
    try {
      await this.#deleteForGood(sessionId)
      await this.#stored.remove(sessionId)
      this.#forget(sessionId)
    } catch {
      // Another server owns the project, its disk is away, or another machine took the session over: it stays discarded, and hidden, until the next start.
    }
  }
}

/** Listeners for sessions that are gone from the lists. */
export class RemovedSessions {
  readonly #listeners = new Set<(sessionId: string) => void>()

  tell(sessionId: string): void {
    for (const listener of [...this.#listeners]) listener(sessionId)
  }

  onRemoved(listener: (sessionId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
