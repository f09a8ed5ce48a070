import type { StopReason } from './turn-events.ts'

/** Why a turn is to end before its agent ends it. The first reason counts; only a kill replaces another. */
export class TurnStop {
  readonly #asked = new AbortController()
  #reason: StopReason | null = null

  get reason(): StopReason | null {
    return this.#reason
  }

  /** Aborted as soon as there is a reason: what is being started is given up. */
  get signal(): AbortSignal {
    return this.#asked.signal
  }

  /** Returns the reason that counts from now on. */
  ask(reason: StopReason): StopReason {
    const counts = this.#reason === null || reason === 'killed' ? reason : this.#reason
    this.#reason = counts
    this.#asked.abort()
    return counts
  }

  /** Calls back when the caller's signal asks for a stop. Returns what ends the listening. */
  follow(signal: AbortSignal, onStop: (reason: StopReason) => unknown): () => void {
    const onAbort = () => void onStop(signal.reason?.name === 'TimeoutError' ? 'timeout' : 'interrupted')
    signal.addEventListener('abort', onAbort, { once: true })
    // A signal that has been aborted already never fires.
    if (signal.aborted) onAbort()
    return () => signal.removeEventListener('abort', onAbort)
  }
}

/** Waits for the promise, but no longer than the signal allows: then it rejects with the signal's reason. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // Nobody may be left to hear of its failure.
  promise.catch(() => {})
  signal.throwIfAborted()
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
