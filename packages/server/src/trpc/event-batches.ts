import type { Envelope } from '@chirality/core'
import type { SessionLog } from '@chirality/sessions'
import { envelopeText } from '../socket/encoder.ts'
import type { SendPace } from '../socket/send-pace.ts'

export interface ReadPace {
  pace: SendPace
  signal?: AbortSignal
}

/** Waits for the reader before it reads: what is not sent yet stays in the log, where it costs nothing. */
export async function* eventBatches(
  log: SessionLog,
  after: number,
  { pace, signal }: ReadPace,
): AsyncGenerator<Envelope[]> {
  const subscription = log.subscribe(after)
  const end = () => void subscription.return?.()
  signal?.addEventListener('abort', end)
  try {
    for (;;) {
      const first = await subscription.next()
      if (first.done || !(await pace.turn())) return
      const batch: Envelope[] = [...first.value]
      let chars = sizeOf(batch)
      while (
        batch.length < MAX_BATCH_EVENTS &&
        chars < MAX_BATCH_CHARS &&
        (batch.at(-1)?.seq ?? 0) < log.lastSeq
      ) {
        const more = await subscription.next()
        if (more.done) break
        batch.push(...more.value)
        chars += sizeOf(more.value)
      }
      yield batch
    }
  } finally {
    signal?.removeEventListener('abort', end)
    end()
  }
}

const MAX_BATCH_EVENTS = 512
/** What waits beyond the buffer of a connection that is full. */
const MAX_BATCH_CHARS = 128 * 1024

function sizeOf(envelopes: Envelope[]): number {
  return envelopes.reduce((sum, envelope) => sum + envelopeText(envelope).length, 0)
}
