import type { Envelope } from '@chirality/core'
import type { SessionLog } from '@chirality/sessions'
import type { SendPace } from '../socket/send-pace.ts'

export interface ReadPace {
  pace: SendPace
  signal?: AbortSignal
}

/** Waits for the reader before it reads on: what is not sent yet stays in the log, where it costs nothing. */
export async function* eventBatches(
  log: SessionLog,
  after: number,
  { pace, signal }: ReadPace,
): AsyncGenerator<Envelope[]> {
  const subscription = log.subscribe(after)
  const end = () => void subscription.return?.()
  signal?.addEventListener('abort', end)
  // Who left before this began is not told of again, and where nothing happens would be waited with for ever.
  if (signal?.aborted) end()
  try {
    for await (const envelopes of subscription) {
      const isBehind = (envelopes.at(-1)?.seq ?? 0) < log.lastSeq
      if (!(await pace.turn({ hasWholeBatch: isBehind }))) return
      yield envelopes
    }
  } finally {
    signal?.removeEventListener('abort', end)
    end()
  }
}
