import { timesAfter, timesInWords } from '@chirality/loops'
import { CALLS } from '../contract/calls.ts'
import { ask, call, router } from './trpc.ts'

/** Prompts and loops that the server runs at times. */
export const schedulesRouter = router({
  /** Oldest first. */
  list: ask(CALLS.schedules.list).query(({ ctx }) => ctx.schedules.list()),

  /** With its last runs and their receipts. */
  get: call(CALLS.schedules.get).query(({ ctx, input }) => ctx.schedules.get(input.id)),

  add: call(CALLS.schedules.add).mutation(({ ctx, input }) => ctx.schedules.add(input)),

  /** The next times, before it is added. */
  preview: call(CALLS.schedules.preview).query(({ input }) => ({
    ...{ times: timesAfter(input.when, Date.now(), 3), words: timesInWords(input.when) },
  })),

  /** All of it but its project, and whether it is a prompt or a loop. */
  change: call(CALLS.schedules.change).mutation(({ ctx, input: { id, ...input } }) =>
    ctx.schedules.change(id, input),
  ),

  pause: call(CALLS.schedules.pause).mutation(({ ctx, input }) => ctx.schedules.pause(input.id)),
  resume: call(CALLS.schedules.resume).mutation(({ ctx, input }) => ctx.schedules.resume(input.id)),

  /** Now, beside its times. */
  run: call(CALLS.schedules.run).mutation(({ ctx, input }) => ctx.schedules.run(input.id)),

  /** What runs goes on. */
  remove: call(CALLS.schedules.remove).mutation(({ ctx, input }) => {
    ctx.schedules.remove(input.id)
    return {}
  }),
})
