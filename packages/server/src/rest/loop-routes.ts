import { CALLS, type Centre } from '@chirality/centre'
import { ENDPOINTS, PATH_IDS } from '../contract/endpoints.ts'
import { HttpError } from '../http/http-error.ts'
import type { Route, RouteRequest } from '../http/routes.ts'
import { cursorOf } from '../http/sse.ts'
import { asking } from './harness-routes.ts'
import type { OpenStreams } from './open-streams.ts'
import { route } from './route.ts'
import { MAX_CALL_BYTES } from './trpc-route.ts'

const BODY = { maxBytes: MAX_CALL_BYTES }

/** The calls about loops and schedules as routes, and the journal of a loop as a stream. */
export function loopRoutes(centre: Centre, streams: OpenStreams): Route[] {
  return [...routesOfLoops(centre, streams), ...routesOfSchedules(centre)]
}

function routesOfLoops(centre: Centre, streams: OpenStreams): Route[] {
  const ask = asking(centre)
  return [
    route(ENDPOINTS.listLoops, async ({ query, reply }) =>
      reply(await ask(CALLS.loops.list, { project: query.projectRoot })),
    ),

    route(ENDPOINTS.startLoop, async ({ readBody, reply }) => {
      const { projectRoot: project, ...input } = await readBody(BODY)
      reply(await ask(CALLS.loops.start, { project, ...input }))
    }),

    route(ENDPOINTS.getLoop, async ({ params, reply }) =>
      reply(await ask(CALLS.loops.get, { loopId: idOf(params) })),
    ),

    route(ENDPOINTS.loopEvents, async ({ request, response, url, params }) => {
      const id = idOf(params)
      const { version } = await centre.loops.summary(id)
      const after = cursorOf(request, url) ?? 0
      if (after > version) throw new HttpError(409, 'cursor-ahead', `The journal ends at ${version}.`)
      const stream = streams.open(response)
      for await (const entries of centre.loops.entries(id, after, stream.signal)) {
        if (!(await stream.pace.turn())) return
        stream.send(entries.map(([n, entry]) => ({ id: n, event: entry.type, data: entry })))
      }
      stream.end()
    }),

    route(ENDPOINTS.stopLoop, async ({ params, reply }) =>
      reply(await ask(CALLS.loops.stop, { loopId: idOf(params) })),
    ),

    route(ENDPOINTS.resumeLoop, async ({ params, readBody, reply }) =>
      reply(await ask(CALLS.loops.resume, { loopId: idOf(params), ...(await readBody(BODY)) })),
    ),

    route(ENDPOINTS.loopReport, async ({ params, reply }) =>
      reply(await ask(CALLS.loops.report, { loopId: idOf(params) })),
    ),

    route(ENDPOINTS.acceptLoop, async ({ params, readBody, reply }) => {
      const { task } = await readBody(BODY)
      reply(await ask(CALLS.loops.accept, { loopId: idOf(params), task }))
    }),

    route(ENDPOINTS.revertLoopTask, async ({ params, reply }) =>
      reply(await ask(CALLS.loops.revert, { loopId: idOf(params), task: taskOf(params) })),
    ),
  ]
}

function routesOfSchedules(centre: Centre): Route[] {
  const ask = asking(centre)
  const named = ({ id = '' }: RouteRequest['params']) => ({ id })
  return [
    route(ENDPOINTS.listSchedules, async ({ reply }) => reply(await ask(CALLS.schedules.list, undefined))),

    route(ENDPOINTS.addSchedule, async ({ readBody, reply }) => {
      const { projectRoot: project, ...input } = await readBody(BODY)
      reply(await ask(CALLS.schedules.add, { project, ...input }))
    }),

    route(ENDPOINTS.getSchedule, async ({ params, reply }) =>
      reply(await ask(CALLS.schedules.get, named(params))),
    ),

    route(ENDPOINTS.removeSchedule, async ({ params, reply }) => {
      await ask(CALLS.schedules.remove, named(params))
      reply()
    }),

    route(ENDPOINTS.changeSchedule, async ({ params, readBody, reply }) =>
      reply(await ask(CALLS.schedules.change, { ...named(params), ...(await readBody(BODY)) })),
    ),

    route(ENDPOINTS.pauseSchedule, async ({ params, reply }) =>
      reply(await ask(CALLS.schedules.pause, named(params))),
    ),

    route(ENDPOINTS.resumeSchedule, async ({ params, reply }) =>
      reply(await ask(CALLS.schedules.resume, named(params))),
    ),

    route(ENDPOINTS.runSchedule, async ({ params, reply }) =>
      reply(await ask(CALLS.schedules.run, named(params))),
    ),
  ]
}

function idOf({ id }: RouteRequest['params']): string {
  const parsed = PATH_IDS.loop.safeParse(id)
  if (parsed.success) return parsed.data
  throw new HttpError(404, 'loop-missing', 'There is no such loop.')
}

function taskOf({ task }: RouteRequest['params']): string {
  const parsed = PATH_IDS.task.safeParse(task)
  if (parsed.success) return parsed.data
  throw new HttpError(404, 'loop-missing', 'There is no such task.')
}
