import { ENDPOINTS } from '../contract/endpoints.ts'
import { loopId, taskId } from '../contract/loop-calls.ts'
import { HttpError } from '../errors/call-error.ts'
import type { Route, RouteRequest } from '../http/routes.ts'
import { cursorOf } from '../http/sse.ts'
import type { AppServices } from '../trpc/context.ts'
import type { OpenStreams } from './open-streams.ts'
import { route } from './route.ts'
import { MAX_CALL_BYTES } from './trpc-route.ts'

const BODY = { maxBytes: MAX_CALL_BYTES }

/** Loops and schedules: what their procedures do, as routes, and the journal of a loop as a stream. */
export function loopRoutes({ loops, schedules }: AppServices, streams: OpenStreams): Route[] {
  return [
    route(ENDPOINTS.listLoops, async ({ query, reply }) => reply(await loops.list(query.projectRoot))),

    route(ENDPOINTS.startLoop, async ({ readBody, reply }) => {
      const { projectRoot, ...input } = await readBody(BODY)
      reply(await loops.start({ project: projectRoot, ...input }))
    }),

    route(ENDPOINTS.getLoop, async ({ params, reply }) => reply(await loops.get(idOf(params)))),

    route(ENDPOINTS.loopEvents, async ({ request, response, url, params }) => {
      const id = idOf(params)
      const { version } = await loops.summary(id)
      const after = cursorOf(request, url) ?? 0
      if (after > version) throw new HttpError(409, 'cursor-ahead', `The journal ends at ${version}.`)
      const stream = streams.open(response)
      for await (const entries of loops.entries(id, after, stream.signal)) {
        if (!(await stream.pace.turn())) return
        stream.send(entries.map(([n, entry]) => ({ id: n, event: entry.type, data: entry })))
      }
      stream.end()
    }),

    route(ENDPOINTS.stopLoop, async ({ params, reply }) => reply(await loops.stop(idOf(params)))),

    route(ENDPOINTS.resumeLoop, async ({ params, readBody, reply }) =>
      reply(await loops.resume(idOf(params), await readBody(BODY))),
    ),

    route(ENDPOINTS.loopReport, async ({ params, reply }) =>
      reply({ markdown: await loops.report(idOf(params)) }),
    ),

    route(ENDPOINTS.acceptLoop, async ({ params, readBody, reply }) =>
      reply(await loops.accept(idOf(params), (await readBody(BODY)).task)),
    ),

    route(ENDPOINTS.revertLoopTask, async ({ params, reply }) =>
      reply(await loops.revert(idOf(params), taskOf(params))),
    ),

    route(ENDPOINTS.listSchedules, ({ reply }) => reply(schedules.list())),

    route(ENDPOINTS.addSchedule, async ({ readBody, reply }) => {
      const { projectRoot, ...input } = await readBody(BODY)
      reply(await schedules.add({ project: projectRoot, ...input }))
    }),

    route(ENDPOINTS.getSchedule, ({ params, reply }) => reply(schedules.get(`${params.id}`))),

    route(ENDPOINTS.removeSchedule, ({ params, reply }) => {
      schedules.remove(`${params.id}`)
      reply()
    }),

    route(ENDPOINTS.changeSchedule, async ({ params, readBody, reply }) =>
      reply(await schedules.change(`${params.id}`, await readBody(BODY))),
    ),

    route(ENDPOINTS.pauseSchedule, ({ params, reply }) => reply(schedules.pause(`${params.id}`))),

    route(ENDPOINTS.resumeSchedule, ({ params, reply }) => reply(schedules.resume(`${params.id}`))),

    route(ENDPOINTS.runSchedule, async ({ params, reply }) => reply(await schedules.run(`${params.id}`))),
  ]
}

function idOf({ id }: RouteRequest['params']): string {
  const parsed = loopId.safeParse(id)
  if (parsed.success) return parsed.data
  throw new HttpError(404, 'loop-missing', 'There is no such loop.')
}

function taskOf({ task }: RouteRequest['params']): string {
  const parsed = taskId.safeParse(task)
  if (parsed.success) return parsed.data
  throw new HttpError(404, 'loop-missing', 'There is no such task.')
}
