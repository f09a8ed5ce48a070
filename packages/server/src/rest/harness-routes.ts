import { pipeline } from 'node:stream/promises'
import type { Envelope } from '@chirality/core'
import { EXPORT_FORMATS, exportSession } from '@chirality/sessions'
import { HttpError } from '../errors/call-error.ts'
import { readBody } from '../http/read-body.ts'
import { sendJson, sendNothing } from '../http/respond.ts'
import type { Route, RouteRequest } from '../http/routes.ts'
import { cursorOf, type ServerSentEvent } from '../http/sse.ts'
import type { AppServices } from '../trpc/context.ts'
import { eventBatches, turnEvents } from '../trpc/event-batches.ts'
import * as inputs from '../trpc/inputs.ts'
import {
  answerDecision,
  deleteSession,
  liveSession,
  pendingDecisions,
  shownSession,
  shownSessions,
  storedSession,
} from '../trpc/live-session.ts'
import { shown, trustInput } from '../trpc/trust-router.ts'
import type { OpenStreams } from './open-streams.ts'
import { MAX_CALL_BYTES } from './trpc-route.ts'

const BODY = { maxBytes: MAX_CALL_BYTES }

const CREATE = inputs.newSession
  .omit({ project: true })
  .extend({ projectRoot: inputs.project, persona: inputs.personaId.nullish() })

const TRUST = trustInput.omit({ project: true }).extend({ projectRoot: inputs.project })

/** The routes of the harness: turns as SSE, sessions as JSON. */
export function harnessRoutes(services: AppServices, streams: OpenStreams): Route[] {
  const route = (
    method: Route['method'],
    path: string,
    handle: (request: RouteRequest) => Promise<void>,
  ): Route => ({ method, path: `/api/harness/${path}`, kind: 'call', handle })

  return [
    route('POST', 'turn', async ({ request, response, url }) => {
      const { sessionId, message, options } = await readBody(request, inputs.turnInput, BODY)
      const session = await liveSession(services, sessionId)
      const after = session.log.lastSeq
      streams.requireRoom()
      const { turnId } = await session.start(message, options)
      const stream = streams.open(response)
      for await (const envelopes of turnEvents({ host: services.host, session, turnId, after }, stream)) {
        stream.send(envelopes.map(eventFormat(url)))
      }
      stream.end()
    }),

    route('POST', 'interrupt', async ({ request, response }) => {
      const { sessionId } = await readBody(request, inputs.bySession, BODY)
      const session = await liveSession(services, sessionId)
      const interrupted = session.status.phase !== 'idle'
      session.interrupt()
      sendJson(response, 200, { interrupted })
    }),

    /** Permission requests that wait for an answer, oldest first. */
    route('GET', 'decisions', async ({ response, url }) => {
      const id = url.searchParams.get('sessionId')
      const sessionId = id === null ? undefined : idOf({ id })
      sendJson(response, 200, { pending: await pendingDecisions(services, sessionId) })
    }),

    route('POST', 'decisions', async ({ request, response }) => {
      await answerDecision(services, await readBody(request, inputs.answer, BODY))
      sendNothing(response)
    }),

    route('POST', 'session/create', async ({ request, response }) => {
      const { projectRoot, ...options } = await readBody(request, CREATE, BODY)
      const session = await services.host.createSession(await services.projects.require(projectRoot), options)
      sendJson(response, 201, { session })
    }),

    /** What a project brings for its agents to run; `POST` agrees to exactly what was shown. */
    route('GET', 'trust', async ({ response, url }) => {
      const root = await services.projects.require(url.searchParams.get('projectRoot') ?? '')
      sendJson(response, 200, shown(await services.host.trust.state(root)))
    }),

    route('POST', 'trust', async ({ request, response }) => {
      const { projectRoot, fingerprint } = await readBody(request, TRUST, BODY)
      const root = await services.projects.require(projectRoot)
      sendJson(response, 200, shown(await services.host.trust.allow(root, fingerprint)))
    }),

    route('DELETE', 'trust', async ({ response, url }) => {
      const root = await services.projects.require(url.searchParams.get('projectRoot') ?? '')
      sendJson(response, 200, shown(await services.host.trust.revoke(root)))
    }),

    route('GET', 'session/list', async ({ response, url }) => {
      const projectRoot = url.searchParams.get('projectRoot') ?? undefined
      const all = await shownSessions(services, { projectRoot, limit: Number.POSITIVE_INFINITY })
      sendJson(response, 200, all.sessions)
    }),

    route('GET', 'session/:id', async ({ response, params }) => {
      sendJson(response, 200, { session: await shownSession(services, idOf(params)) })
    }),

    route('DELETE', 'session/:id', async ({ response, params }) => {
      await deleteSession(services, idOf(params))
      sendNothing(response)
    }),

    /** The session as a file to share, with secrets removed. */
    route('GET', 'session/:id/export', async ({ response, url, params }) => {
      const format = EXPORT_FORMATS.find(known => known === (url.searchParams.get('format') ?? 'markdown'))
      if (format === undefined)
        throw new HttpError(400, 'invalid-input', `format: must be one of ${EXPORT_FORMATS.join(', ')}`)
      const { id, projectRoot } = await storedSession(services, idOf(params))
      response.writeHead(200, {
        'content-type': 'application/octet-stream',
        'content-disposition': `attachment; filename="${id}.${EXTENSIONS[format]}"`,
        'cache-control': 'no-store',
      })
      await pipeline(exportSession(projectRoot, id, { format, home: services.facts.home }), response)
    }),

    /** Everything that happens in a session, from a cursor on: for those who lost the stream of a turn. */
    route('GET', 'session/:id/events', async ({ request, response, url, params }) => {
      const { log } = await liveSession(services, idOf(params))
      const after = cursorOf(request, url) ?? 0
      if (after > log.lastSeq) throw new HttpError(409, 'cursor-ahead', `The log ends at ${log.lastSeq}.`)
      const stream = streams.open(response)
      const format = eventFormat(url)
      for await (const envelopes of eventBatches(log, after, stream)) stream.send(envelopes.map(format))
      stream.end()
    }),
  ]
}

/** UI events; with `?as=envelopes` also when they came and in which turn. */
function eventFormat(url: URL): (envelope: Envelope) => ServerSentEvent {
  const whole = url.searchParams.get('as') === 'envelopes'
  return envelope => ({
    id: envelope.seq,
    event: envelope.event.type,
    data: whole ? envelope : envelope.event,
  })
}

const EXTENSIONS = { markdown: 'md', json: 'json', html: 'html' } as const

function idOf({ id }: RouteRequest['params']): string {
  const parsed = inputs.sessionId.safeParse(id)
  if (parsed.success) return parsed.data
  throw new HttpError(404, 'not-found', 'There is no such session.')
}
