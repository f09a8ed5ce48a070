import { CALLS } from '../contract/calls.ts'
import { taskFiles } from '../loops/shown-loop.ts'
import { call, router } from './trpc.ts'

/** Task lists that the server works through. What changes in one is told by `fleet.events`. */
export const loopsRouter = router({
  /** Newest first, of all registered projects if none is named. */
  list: call(CALLS.loops.list).query(({ ctx, input }) => ctx.loops.list(input?.project)),

  /** The Markdown files of a project that have tasks. */
  files: call(CALLS.loops.files).query(async ({ ctx, input }) =>
    taskFiles(await ctx.projects.require(input.project)),
  ),

  /** What a loop on the list would do and run, and what keeps it from starting. */
  plan: call(CALLS.loops.plan).query(({ ctx, input }) => ctx.loops.plan(input.project, input.list)),

  get: call(CALLS.loops.get).query(({ ctx, input }) => ctx.loops.get(input.loopId)),

  /** The output of the last checks of a task, what its agent was told, and its receipt. */
  task: call(CALLS.loops.task).query(({ ctx, input }) => ctx.loops.task(input.loopId, input.task)),

  start: call(CALLS.loops.start).mutation(({ ctx, input }) => ctx.loops.start(input)),

  /** Answers when no agent and no check of it runs any more. */
  stop: call(CALLS.loops.stop).mutation(({ ctx, input }) => ctx.loops.stop(input.loopId)),

  /** Goes on with it, sets limits, or puts a task back with an answer or a note. */
  resume: call(CALLS.loops.resume).mutation(({ ctx, input: { loopId, ...input } }) =>
    ctx.loops.resume(loopId, input),
  ),

  report: call(CALLS.loops.report).query(async ({ ctx, input }) => ({
    markdown: await ctx.loops.report(input.loopId),
  })),

  /** Merges what is proved into the branch that the loop began at: all of it, or up to a task. */
  accept: call(CALLS.loops.accept).mutation(({ ctx, input }) => ctx.loops.accept(input.loopId, input.task)),

  /** Takes the change of a task back from the loop's branch. */
  revert: call(CALLS.loops.revert).mutation(({ ctx, input }) => ctx.loops.revert(input.loopId, input.task)),
})
