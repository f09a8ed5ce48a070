import type { StopReason } from './turn-events.ts'

/** Why a turn is to end before its agent ends it. The first reason counts; only a kill replaces another reason. */
export class TurnStop {
  readonly #asked = new AbortController()
  #reason: StopReason | null = null

  get reason(): StopReason | null {
    return this.#reason
  }

  /** Aborted as soon as there is a reason, which cancels a start. */
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

  /** Calls back when the caller's signal is aborted. Returns the function that removes the listener. */
  follow(signal: AbortSignal, onStop: (reason: StopReason) => unknown): () => void {
    const onAbort = () => void onStop(signal.reason?.name === 'TimeoutError' ? 'timeout' : 'interrupted')
    signal.addEventListener('abort', onAbort, { once: true })
    // An already-aborted signal never fires; without this check the turn would run although its caller has stopped it.
    if (signal.aborted) onAbort()
    return () => signal.removeEventListener('abort', onAbort)
  }
}

/** Waits for the promise until the signal is aborted, and then rejects with the signal's reason. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // After an abort nothing awaits this promise; without a handler its failure would be an unhandled rejection.
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

/** Calls the action at the first call only; every call returns its promise. */
export function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= action()
    return done
  }
}
