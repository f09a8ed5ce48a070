import { pipeline } from 'node:stream/promises'
import {
  type Answered,
  answer,
  CALLS,
  type Centre,
  eventBatches,
  exportedSession,
  isAtWork,
  startFollowedTurn,
  withLog,
} from '@chirality/centre'
import type { Envelope } from '@chirality/core'
import type { z } from 'zod'
import { ENDPOINTS, PATH_IDS } from '../contract/endpoints.ts'
import { HttpError } from '../http/http-error.ts'
import type { Route, RouteRequest } from '../http/routes.ts'
import { cursorOf, type ServerSentEvent } from '../http/sse.ts'
import type { OpenStreams } from './open-streams.ts'
import { route } from './route.ts'
import { MAX_CALL_BYTES } from './trpc-route.ts'

const BODY = { maxBytes: MAX_CALL_BYTES }

/** The routes of the harness: turns as SSE, sessions as JSON. */
export function harnessRoutes(centre: Centre, streams: OpenStreams): Route[] {
  const ask = asking(centre)
  return [
    route(ENDPOINTS.startTurn, async ({ response, query, readBody }) => {
      const input = await readBody(BODY)
      streams.requireRoom()
      const turn = await startFollowedTurn(centre, input)
      const stream = streams.open(response)
      for await (const envelopes of turn.events(stream)) stream.send(envelopes.map(eventFormat(query)))
      stream.end()
    }),

    route(ENDPOINTS.interrupt, async ({ readBody, reply }) => {
      const input = await readBody(BODY)
      const interrupted = isAtWork(centre, input.sessionId)
      await ask(CALLS.turns.interrupt, input)
      reply({ interrupted })
    }),

    route(ENDPOINTS.pendingDecisions, async ({ query: { sessionId: id }, reply }) => {
      const sessionId = id === undefined ? undefined : idOf({ id })
      reply({ pending: await ask(CALLS.decisions.pending, { sessionId }) })
    }),

    route(ENDPOINTS.answerDecision, async ({ readBody, reply }) => {
      await ask(CALLS.decisions.answer, await readBody(BODY))
      reply()
    }),

    route(ENDPOINTS.createSession, async ({ readBody, reply }) => {
      const { projectRoot: project, ...options } = await readBody(BODY)
      reply({ session: await ask(CALLS.sessions.create, { project, ...options }) })
    }),

    route(ENDPOINTS.showTrust, async ({ query, reply }) =>
      reply(await ask(CALLS.trust.get, { project: query.projectRoot })),
    ),

    route(ENDPOINTS.allowTrust, async ({ readBody, reply }) => {
      const { projectRoot: project, fingerprint } = await readBody(BODY)
      reply(await ask(CALLS.trust.allow, { project, fingerprint }))
    }),

    route(ENDPOINTS.revokeTrust, async ({ query, reply }) =>
      reply(await ask(CALLS.trust.revoke, { project: query.projectRoot })),
    ),

    route(ENDPOINTS.listSessions, async ({ query: { projectRoot: project }, reply }) => {
      const all = []
      let cursor: string | undefined
      do {
        const page = await ask(CALLS.sessions.list, { project, cursor, limit: PAGE })
        all.push(...page.sessions)
        cursor = page.nextCursor
      } while (cursor !== undefined)
      reply(all)
    }),

    route(ENDPOINTS.getSession, async ({ params, reply }) => {
      reply({ session: await ask(CALLS.sessions.get, { sessionId: idOf(params) }) })
    }),

    route(ENDPOINTS.deleteSession, async ({ params, reply }) => {
      await ask(CALLS.sessions.delete, { sessionId: idOf(params) })
      reply()
    }),

    route(ENDPOINTS.blame, async ({ query: { projectRoot: project, ...asked }, reply }) =>
      reply(await ask(CALLS.files.blame, { project, ...asked })),
    ),

    route(ENDPOINTS.listWorktrees, async ({ query: { projectRoot: project }, reply }) =>
      reply(await ask(CALLS.worktrees.list, { project, diskUse: true })),
    ),

    route(ENDPOINTS.removeWorktree, async ({ params, reply }) =>
      reply(await ask(CALLS.worktrees.remove, { id: worktreeOf(params) })),
    ),

    route(ENDPOINTS.restoreWorktree, async ({ params, reply }) => {
      await ask(CALLS.worktrees.restore, { id: worktreeOf(params) })
      reply()
    }),

    route(ENDPOINTS.forgetWorktree, async ({ params, reply }) => {
      await ask(CALLS.worktrees.forget, { id: worktreeOf(params) })
      reply()
    }),

    route(ENDPOINTS.exportSession, async ({ response, params, query: { format } }) => {
      const { id, content } = await exportedSession(centre, idOf(params), format)
      response.writeHead(200, {
        'content-type': 'application/octet-stream',
        'content-disposition': `attachment; filename="${id}.${EXTENSIONS[format]}"`,
        'cache-control': 'no-store',
      })
      await pipeline(content, response)
    }),

    // For clients that lost the stream of a turn.
    route(ENDPOINTS.sessionEvents, async ({ request, response, url, params, query }) => {
      await withLog(centre, idOf(params), async log => {
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

type Asking = <C extends Answered>(
  call: C,
  input: C['input'] extends z.ZodType ? z.input<C['input']> : undefined,
) => Promise<z.output<C['output']>>

/** Calls of a route: their input has the types of the call. */
export function asking(centre: Centre): Asking {
  return (call, input) => answer(centre, call, input)
}

/** UI events; with `?as=envelopes` also their time and turn. */
function eventFormat({
  as,
}: {
  as?: 'events' | 'envelopes' | undefined
}): (envelope: Envelope) => ServerSentEvent {
  const whole = as === 'envelopes'
  return envelope => ({
    id: envelope.seq,
    event: envelope.event.type,
    data: whole ? envelope : envelope.event,
  })
}

const PAGE = 1000
const EXTENSIONS = { markdown: 'md', json: 'json', html: 'html' } as const

function worktreeOf({ id }: RouteRequest['params']): string {
  const parsed = PATH_IDS.worktree.safeParse(id)
  if (parsed.success) return parsed.data
  throw new HttpError(404, 'not-found', 'There is no such worktree.')
}

function idOf({ id }: RouteRequest['params']): string {
  const parsed = PATH_IDS.session.safeParse(id)
  if (parsed.success) return parsed.data
  throw new HttpError(404, 'not-found', 'There is no such session.')
}
