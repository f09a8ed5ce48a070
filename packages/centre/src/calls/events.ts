import type { Envelope } from '@chirality/core'
import { z } from 'zod'
import { subscription } from '../call.ts'
import { EventTexts, eventBatches, JsonEvents } from '../sessions/event-batches.ts'
import { openLog } from '../sessions/live-session.ts'
import { envelope } from '../shapes/events.ts'
import { cursor, sessionId } from '../shapes/values.ts'

/** The stream of one session. */
export const eventCalls = {
  events: subscription({
    about:
      'All events of a session after `lastEventId`, first from the log and then live. With `textOnce` a whole text that came in pieces is sent without its content: `textOf` says where it is.',
    input: z.object({ sessionId, lastEventId: cursor.nullish(), textOnce: z.boolean().optional() }),
    yields: z.array(envelope),
    resumes: true,
    run: async function* (centre, input, { pace, signal, takesJson }) {
      let texts: EventTexts | undefined
      let close: (() => Promise<void>) | undefined
      try {
        const opened = await openLog(centre, input.sessionId)
        const { log } = opened
        close = opened.close
        const after = Number(input.lastEventId ?? 0)
        const reading = { pace, signal, textOnce: input.textOnce }
        if (takesJson) {
          texts = new EventTexts(log, after, reading)
          for (let next = await texts.next(); next !== undefined; next = await texts.next())
            yield { id: String(next.to), data: asEnvelopes(new JsonEvents(next.text)) }
        } else
          for await (const envelopes of eventBatches(log, after, reading))
            yield { id: String(envelopes.at(-1)?.seq), data: envelopes }
      } finally {
        texts?.close()
        await close?.()
      }
    },
  }),
}

/** The type as a client receives it. */
function asEnvelopes(events: JsonEvents): Envelope[] {
  return events as unknown as Envelope[]
}
