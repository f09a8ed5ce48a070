/**
 * `AbortSignal.any` that loses no timeout. Node drops an `AbortSignal.timeout` that nobody listens to when it collects
 * garbage, also while a combined signal waits for it: whoever waits for that one would wait for ever.
 */
export function anySignal(signals: AbortSignal[]): AbortSignal {
  for (const signal of signals) signal.addEventListener('abort', keepsIt)
  return AbortSignal.any(signals)
}

/** One function for all: a signal takes it once, however often it is combined. */
function keepsIt(): void {}
