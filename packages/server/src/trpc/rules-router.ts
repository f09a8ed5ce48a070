import { CALLS } from '../contract/calls.ts'
import { callError } from '../errors/call-error.ts'
import { call, router } from './trpc.ts'

export const rulesRouter = router({
  /**
   * Every file with rules for the project, in the order of evaluation; those of personas are listed with the personas.
   */
  list: call(CALLS.rules.list).query(async ({ ctx, input }) =>
    ctx.host.policies.sources(await ctx.projects.require(input.project)),
  ),

  /** Removes a rule of the user's own files, by its line and text. Files of the project cannot be changed here. */
  remove: call(CALLS.rules.remove).mutation(async ({ ctx, input: { project, scope, line, text } }) => {
    const root = await ctx.projects.require(project)
    if (!(await ctx.host.policies.removeRule(root, scope, { line, text })))
      throw callError(
        'changed',
        'The file of this rule has changed since it was read. Look at the rules again.',
      )
    return ctx.host.policies.sources(root)
  }),
})
