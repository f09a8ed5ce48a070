import { type EventText, joinTexts, type SessionLog } from '@chirality/sessions'
import type { ReadPace } from './event-batches.ts'

/** As `eventBatches`, for a socket: JSON that is passed on as it stands in the log, and what came meanwhile in the same batch. */
export async function* eventTexts(
  log: SessionLog,
  after: number,
  { pace, signal }: ReadPace,
): AsyncGenerator<EventText> {
  const subscription = log.subscribeText(after)
  const end = () => void subscription.return?.()
  signal?.addEventListener('abort', end)
  // Who left before this began is not told of again, and where nothing happens would be waited with for ever.
  if (signal?.aborted) end()
  try {
    for (;;) {
      const first = await subscription.next()
      if (first.done) return
      const texts = [first.value]
      const { from } = first.value
      let { to } = first.value
      let chars = first.value.text.length
      const hasWholeBatch = chars >= MAX_BATCH_CHARS || log.lastSeq - from >= MAX_BATCH_EVENTS
      if (!(await pace.turn({ hasWholeBatch }))) return
      while (to - from < MAX_BATCH_EVENTS && chars < MAX_BATCH_CHARS && to < log.lastSeq) {
        const more = await subscription.next()
        if (more.done) break
        texts.push(more.value)
        chars += more.value.text.length
        to = more.value.to
      }
      yield joinTexts(texts)
    }
  } finally {
    signal?.removeEventListener('abort', end)
    end()
  }
}

const MAX_BATCH_EVENTS = 512
/** What waits beyond the buffer of a connection that is full. */
const MAX_BATCH_CHARS = 128 * 1024
