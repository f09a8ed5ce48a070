import type { Envelope } from '@chirality/core'
import { batchText, joinBatches, type SessionLog } from '@chirality/sessions'
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
      if (first.done) return
      const batches = [first.value]
      const from = first.value[0]?.seq ?? 0
      let cursor = first.value.at(-1)?.seq ?? 0
      let chars = batchText(first.value).length
      const hasWholeBatch = chars >= MAX_BATCH_CHARS || log.lastSeq - from >= MAX_BATCH_EVENTS
      if (!(await pace.turn({ hasWholeBatch }))) return
      while (cursor - from < MAX_BATCH_EVENTS && chars < MAX_BATCH_CHARS && cursor < log.lastSeq) {
        const more = await subscription.next()
        if (more.done) break
        batches.push(more.value)
        chars += batchText(more.value).length
        cursor = more.value.at(-1)?.seq ?? cursor
      }
      yield joinBatches(batches)
    }
  } finally {
    signal?.removeEventListener('abort', end)
    end()
  }
}

const MAX_BATCH_EVENTS = 512
/** What waits beyond the buffer of a connection that is full. */
const MAX_BATCH_CHARS = 128 * 1024
