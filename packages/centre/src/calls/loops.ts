import { z } from 'zod'
import { mutation, query } from '../call.ts'
import { taskFiles } from '../loops/shown-loop.ts'
import {
  acceptance,
  byLoop,
  byTask,
  goOn,
  loopPlan,
  loopSummary,
  loopTaskDetails,
  loopWithTasks,
  newLoop,
  taskFile,
  taskId,
} from '../shapes/loops.ts'
import { byProject, project } from '../shapes/values.ts'

/** Task lists that are worked through. `fleet.events` tells what changes in one. */
export const loopCalls = {
  list: query({
    about: 'Lists loops, newest first, of all registered projects if none is named.',
    input: z.strictObject({ project: project.optional() }).optional(),
    output: z.array(loopSummary),
    run: ({ loops }, input) => loops.list(input?.project),
  }),

  files: query({
    about: 'Lists the Markdown files of a project that have tasks.',
    input: byProject,
    output: z.array(taskFile),
    run: async ({ projects }, input) => taskFiles(await projects.require(input.project)),
  }),

  plan: query({
    about: 'Tells what a loop on a list would do and run, and what keeps it from starting.',
    input: newLoop.pick({ project: true, list: true }),
    output: loopPlan,
    run: ({ loops }, input) => loops.plan(input.project, input.list),
  }),

  get: query({
    about: 'Gives a loop with its tasks.',
    input: byLoop,
    output: loopWithTasks,
    run: ({ loops }, input) => loops.get(input.loopId),
  }),

  task: query({
    about: 'Gives the output of the last checks of a task, what its agent was told, and its receipt.',
    input: byTask,
    output: loopTaskDetails,
    run: ({ loops }, input) => loops.task(input.loopId, input.task),
  }),

  start: mutation({
    about: 'Works through a task list of a project.',
    input: newLoop,
    output: loopSummary,
    run: ({ loops }, input) => loops.start(input),
  }),

  stop: mutation({
    about: 'Stops a loop. Answers when no agent and no check of it runs.',
    input: byLoop,
    output: loopSummary,
    run: ({ loops }, input) => loops.stop(input.loopId),
  }),

  resume: mutation({
    about: 'Goes on with a loop, sets limits, or puts a task back with an answer or a note.',
    input: byLoop.extend(goOn.shape),
    output: loopSummary,
    run: ({ loops }, { loopId, ...input }) => loops.resume(loopId, input),
  }),

  report: query({
    about: 'Gives the report of a loop as Markdown.',
    input: byLoop,
    output: z.strictObject({ markdown: z.string() }),
    run: async ({ loops }, input) => ({ markdown: await loops.report(input.loopId) }),
  }),

  accept: mutation({
    about: 'Merges what is proved into the branch that the loop began at: all of it, or up to a task.',
    input: byLoop.extend({ task: taskId.optional() }),
    output: acceptance,
    run: ({ loops }, input) => loops.accept(input.loopId, input.task),
  }),

  revert: mutation({
    about: 'Takes the change of a proved task back from the branch of the loop.',
    input: byTask,
    output: loopSummary,
    run: ({ loops }, input) => loops.revert(input.loopId, input.task),
  }),
}
