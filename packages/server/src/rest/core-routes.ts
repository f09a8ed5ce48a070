import { CALLS, type Centre, DefaultSession, eventBatches, isAtWork, withLog } from '@chirality/centre'
import { type CoreEvent, ENDPOINTS, PATH_IDS } from '../contract/endpoints.ts'
import { HttpError } from '../http/http-error.ts'
import type { Route } from '../http/routes.ts'
import { cursorOf, type ServerSentEvent } from '../http/sse.ts'
import { CoreEvents } from './core-events.ts'
import { asking } from './harness-routes.ts'
import type { OpenStreams } from './open-streams.ts'
import { route } from './route.ts'
import { MAX_CALL_BYTES } from './trpc-route.ts'

/** `/events`, `/prompt` and `/cancel`: one conversation, without ids. `?session=ID` names another than the default. */
export function coreRoutes(centre: Centre, streams: OpenStreams): Route[] {
  const ask = asking(centre)
  const defaultSession = new DefaultSession(centre)
  const sessionOf = async ({ session: id }: { session?: string | undefined }): Promise<string> => {
    const parsed = PATH_IDS.session.optional().safeParse(id)
    if (parsed.success) return parsed.data ?? defaultSession.get()
    throw new HttpError(404, 'not-found', 'There is no such session.')
  }

  return [
    route(ENDPOINTS.coreEvents, async ({ request, response, url, query }) => {
      await withLog(centre, await sessionOf(query), async log => {
        const after = cursorOf(request, url) ?? log.lastSeq
        if (after > log.lastSeq) throw new HttpError(409, 'cursor-ahead', `The log ends at ${log.lastSeq}.`)
        const stream = streams.open(response)
        const events = new CoreEvents()
        // Calls that began before the cursor and end after it.
        for (const envelope of log.readBefore(after + 1, LOOK_BACK)) events.from(envelope)
        for await (const batch of eventBatches(log, after, stream)) {
          stream.send(batch.flatMap(envelope => numbered(events.from(envelope), envelope.seq)))
        }
        stream.end()
      })
    }),

    route(ENDPOINTS.prompt, async ({ query, readBody, reply }) => {
      const { content: message, options } = await readBody({ maxBytes: MAX_CALL_BYTES })
      const sessionId = await sessionOf(query)
      const { turnId } = await ask(CALLS.turns.start, { sessionId, message, options })
      reply({ sessionId, turnId })
    }),

    route(ENDPOINTS.cancel, async ({ query, reply }) => {
      const sessionId = await sessionOf(query)
      const cancelled = isAtWork(centre, sessionId)
      await ask(CALLS.turns.interrupt, { sessionId })
      reply({ cancelled })
    }),
  ]
}

const LOOK_BACK = 500

/** Only the last event of an envelope has its number: a client that resumes there has all of them. */
function numbered(events: CoreEvent[], seq: number): ServerSentEvent[] {
  return events.map((data, index) => (index === events.length - 1 ? { id: seq, data } : { data }))
}
