import { DEFAULT_MAX_TURNS } from '@chirality/core'
import type { LiveSession } from '@chirality/sessions'
import type { z } from 'zod'
import type { CALLS } from '../contract/calls.ts'
import { type CoreEvent, ENDPOINTS } from '../contract/endpoints.ts'
import { sessionId } from '../contract/values.ts'
import { HttpError } from '../errors/call-error.ts'
import { isAtWork } from '../fleet/fleet-service.ts'
import { forwarded } from '../fleet/forward.ts'
import type { Route } from '../http/routes.ts'
import { cursorOf, type ServerSentEvent } from '../http/sse.ts'
import type { AppServices } from '../trpc/context.ts'
import { eventBatches } from '../trpc/event-batches.ts'
import { liveSession, withLog } from '../trpc/live-session.ts'
import { CoreEvents } from './core-events.ts'
import type { OpenStreams } from './open-streams.ts'
import { route } from './route.ts'
import { MAX_CALL_BYTES } from './trpc-route.ts'

/** `/events`, `/prompt` and `/cancel`: one conversation, without ids. `?session=ID` names another than the default. */
export function coreRoutes(services: AppServices, streams: OpenStreams): Route[] {
  const defaultSession = new DefaultSession(services)
  const named = ({ session: id }: Named): string | undefined => {
    const parsed = sessionId.optional().safeParse(id)
    if (parsed.success) return parsed.data
    throw new HttpError(404, 'not-found', 'There is no such session.')
  }
  const sessionOf = (query: Named): Promise<LiveSession> => {
    const id = named(query)
    return id === undefined ? defaultSession.get() : liveSession(services, id)
  }
  /** The answer of the machine that has the session; undefined for one of this machine. */
  const there = (query: Named, path: string, more: object = {}) =>
    forwarded(services.fleet, { path, input: { sessionId: named(query), ...more } })

  return [
    route(ENDPOINTS.coreEvents, async ({ request, response, url, query }) => {
      await withLog(services, named(query) ?? (await defaultSession.get()).id, async log => {
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
      const { content, options } = await readBody({ maxBytes: MAX_CALL_BYTES })
      const begun = await there(query, 'turns.start', { message: content, options })
      if (begun !== undefined) {
        const { turnId } = begun.data as z.infer<typeof CALLS.turns.start.output>
        return reply({ sessionId: named(query) ?? '', turnId })
      }
      const session = await sessionOf(query)
      const { turnId } = await session.start(content, options)
      reply({ sessionId: session.id, turnId })
    }),

    route(ENDPOINTS.cancel, async ({ query, reply }) => {
      const wasAtWork = isAtWork(services.fleet, named(query))
      if ((await there(query, 'turns.interrupt')) !== undefined) return reply({ cancelled: wasAtWork })
      const session = await sessionOf(query)
      const cancelled = session.status.phase !== 'idle'
      session.interrupt()
      reply({ cancelled })
    }),
  ]
}

interface Named {
  session?: string | undefined
}

const LOOK_BACK = 500

/** Only the last event of an envelope has its number: a client that resumes there has all of them. */
function numbered(events: CoreEvent[], seq: number): ServerSentEvent[] {
  return events.map((data, index) => (index === events.length - 1 ? { id: seq, data } : { data }))
}

/**
 * The session of routes that name none: created when it is first needed, in the first project, preferably with the
 * agent that needs no program. It is the default until the server stops; after that it is a session like any other.
 */
class DefaultSession {
  readonly #services: AppServices
  #id: Promise<string> | undefined

  constructor(services: AppServices) {
    this.#services = services
  }

  async get(): Promise<LiveSession> {
    this.#id ??= this.#create()
    try {
      return await liveSession(this.#services, await this.#id)
    } catch (error) {
      // The session may have been deleted, and an error may be fixed by now: the next call creates another.
      this.#id = undefined
      throw error
    }
  }

  async #create(): Promise<string> {
    const { host, projects, harnesses } = this.#services
    const root = host.projects()[0] ?? (await projects.list())[0]?.root
    if (root === undefined) throw new HttpError(409, 'no-project', 'There is no project yet. Add one first.')
    const all = harnesses.getAll()
    const harness = (all.find(one => one.meta().install === undefined) ?? all[0])?.id
    // Its clients may not handle permission requests: they are denied, and the turn goes on. Nobody may watch it, so it
    // has a limit of rounds.
    const limits = { permissionMode: 'dontAsk' as const, maxTurns: DEFAULT_MAX_TURNS }
    const chosen = { harness, title: 'Default', ...limits }
    const session = await host.createSession(await projects.require(root), chosen)
    return session.id
  }
}
