import { pipeline } from 'node:stream/promises'
import type { Envelope } from '@chirality/core'
import { exportSession } from '@chirality/sessions'
import type { z } from 'zod'
import { ENDPOINTS } from '../contract/endpoints.ts'
import { sessionId, worktreeId } from '../contract/values.ts'
import { HttpError } from '../errors/call-error.ts'
import { isAtWork, remoteSession } from '../fleet/fleet-service.ts'
import { forwarded } from '../fleet/forward.ts'
import { startRemoteTurn } from '../fleet/remote-turn.ts'
import type { Route, RouteRequest } from '../http/routes.ts'
import { cursorOf, type ServerSentEvent, type SseStream } from '../http/sse.ts'
import type { AppServices } from '../trpc/context.ts'
import { eventBatches, turnEvents } from '../trpc/event-batches.ts'
import { blame } from '../trpc/files-router.ts'
import {
  answerDecision,
  createSession,
  deleteSession,
  liveSession,
  pendingDecisions,
  shownSession,
  shownSessions,
  storedSession,
  withLog,
} from '../trpc/live-session.ts'
import { shown } from '../trpc/trust-router.ts'
import { forgetWorktree, listWorktrees, removeWorktree, restoreWorktree } from '../trpc/worktrees-router.ts'
import type { OpenStreams } from './open-streams.ts'
import { route } from './route.ts'
import { MAX_CALL_BYTES } from './trpc-route.ts'

const BODY = { maxBytes: MAX_CALL_BYTES }

/** The routes of the harness: turns as SSE, sessions as JSON. */
export function harnessRoutes(services: AppServices, streams: OpenStreams): Route[] {
  return [
    route(ENDPOINTS.startTurn, async ({ response, query, readBody }) => {
      const input = await readBody(BODY)
      streams.requireRoom()
      const turn = (await startRemoteTurn(services.fleet, input)) ?? (await startOwnTurn(services, input))
      const stream = streams.open(response)
      for await (const envelopes of turn.events(stream)) stream.send(envelopes.map(eventFormat(query)))
      stream.end()
    }),

    route(ENDPOINTS.interrupt, async ({ readBody, reply }) => {
      const input = await readBody(BODY)
      const wasAtWork = isAtWork(services.fleet, input.sessionId)
      if ((await forwarded(services.fleet, { path: 'turns.interrupt', input })) !== undefined)
        return reply({ interrupted: wasAtWork })
      const session = await liveSession(services, input.sessionId)
      const interrupted = session.status.phase !== 'idle'
      session.interrupt()
      reply({ interrupted })
    }),

    /** Permission requests that wait for an answer, oldest first. */
    route(ENDPOINTS.pendingDecisions, async ({ query: { sessionId: id }, reply }) => {
      const sessionId = id === undefined ? undefined : idOf({ id })
      reply({ pending: await pendingDecisions(services, sessionId) })
    }),

    route(ENDPOINTS.answerDecision, async ({ readBody, reply }) => {
      const input = await readBody(BODY)
      const isElsewhere = await forwarded(services.fleet, { path: 'decisions.answer', input })
      if (isElsewhere === undefined) await answerDecision(services, input)
      reply()
    }),

    route(ENDPOINTS.createSession, async ({ readBody, reply }) => {
      const { projectRoot: project, ...options } = await readBody(BODY)
      reply({ session: await createSession(services, { project, ...options }) })
    }),

    /** The project's files that agents would run; `POST` agrees to exactly the files that were shown. */
    route(ENDPOINTS.showTrust, async ({ query, reply }) => {
      const root = await services.projects.require(query.projectRoot)
      reply(shown(await services.host.trust.state(root)))
    }),

    route(ENDPOINTS.allowTrust, async ({ readBody, reply }) => {
      const { projectRoot, fingerprint } = await readBody(BODY)
      const root = await services.projects.require(projectRoot)
      reply(shown(await services.host.trust.allow(root, fingerprint)))
    }),

    route(ENDPOINTS.revokeTrust, async ({ query, reply }) => {
      const root = await services.projects.require(query.projectRoot)
      reply(shown(await services.host.trust.revoke(root)))
    }),

    route(ENDPOINTS.listSessions, async ({ query: { projectRoot }, reply }) => {
      const all = await shownSessions(services, { projectRoot, limit: Number.POSITIVE_INFINITY })
      reply(all.sessions)
    }),

    route(ENDPOINTS.getSession, async ({ params, reply }) => {
      reply({ session: await shownSession(services, idOf(params)) })
    }),

    route(ENDPOINTS.deleteSession, async ({ params, reply }) => {
      const input = { sessionId: idOf(params) }
      const isElsewhere = await forwarded(services.fleet, { path: 'sessions.delete', input })
      if (isElsewhere === undefined) await deleteSession(services, input.sessionId)
      reply()
    }),

    route(ENDPOINTS.blame, async ({ query: { projectRoot: project, ...asked }, reply }) => {
      reply(await blame(services, { project, ...asked }))
    }),

    route(ENDPOINTS.listWorktrees, async ({ query: { projectRoot: project }, reply }) => {
      reply(await listWorktrees(services, { project, diskUse: true }))
    }),

    route(ENDPOINTS.removeWorktree, async ({ params, reply }) => {
      reply({ kept: await removeWorktree(services, worktreeOf(params)) })
    }),

    route(ENDPOINTS.restoreWorktree, async ({ params, reply }) => {
      await restoreWorktree(services, worktreeOf(params))
      reply()
    }),

    route(ENDPOINTS.forgetWorktree, async ({ params, reply }) => {
      await forgetWorktree(services, worktreeOf(params))
      reply()
    }),

    /** The session as a file to share, with secrets removed. */
    route(ENDPOINTS.exportSession, async ({ response, params, query: { format } }) => {
      const remote = remoteSession(services.fleet, idOf(params))
      const mirrored = remote && { session: remote.session, root: services.fleet?.mirrorRoot(remote.machine) }
      const { id, projectRoot } = remote?.session ?? (await storedSession(services, idOf(params)))
      response.writeHead(200, {
        'content-type': 'application/octet-stream',
        'content-disposition': `attachment; filename="${id}.${EXTENSIONS[format]}"`,
        'cache-control': 'no-store',
      })
      const options = { format, home: services.facts.home, session: mirrored?.session }
      await pipeline(exportSession(mirrored?.root ?? projectRoot, id, options), response)
    }),

    /** All events of a session, from a cursor on: for clients that lost the stream of a turn. */
    route(ENDPOINTS.sessionEvents, async ({ request, response, url, params, query }) => {
      await withLog(services, idOf(params), async log => {
        const after = cursorOf(request, url) ?? 0
        if (after > log.lastSeq) throw new HttpError(409, 'cursor-ahead', `The log ends at ${log.lastSeq}.`)
        const stream = streams.open(response)
        const format = eventFormat(query)
        for await (const envelopes of eventBatches(log, after, stream)) stream.send(envelopes.map(format))
        stream.end()
      })
    }),
  ]
}

type TurnInput = z.infer<typeof ENDPOINTS.startTurn.body>

async function startOwnTurn(services: AppServices, { sessionId, message, options }: TurnInput) {
  const session = await liveSession(services, sessionId)
  const after = session.log.lastSeq
  const { turnId } = await session.start(message, options)
  const turn = { host: services.host, session, turnId, after }
  return { events: (stream: SseStream) => turnEvents(turn, stream) }
}

/** UI events; with `?as=envelopes` also their time and turn. */
function eventFormat({ as }: { as?: 'events' | 'envelopes' }): (envelope: Envelope) => ServerSentEvent {
  const whole = as === 'envelopes'
  return envelope => ({
    id: envelope.seq,
    event: envelope.event.type,
    data: whole ? envelope : envelope.event,
  })
}

const EXTENSIONS = { markdown: 'md', json: 'json', html: 'html' } as const

function worktreeOf({ id }: RouteRequest['params']): string {
  const parsed = worktreeId.safeParse(id)
  if (parsed.success) return parsed.data
  throw new HttpError(404, 'not-found', 'There is no such worktree.')
}

function idOf({ id }: RouteRequest['params']): string {
  const parsed = sessionId.safeParse(id)
  if (parsed.success) return parsed.data
  throw new HttpError(404, 'not-found', 'There is no such session.')
}
