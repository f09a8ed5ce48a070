import type { PolicySource } from '@chirality/sessions'
import { z } from 'zod'
import { CallError } from '../errors/call-error.ts'
import { byProject, project } from './inputs.ts'
import { procedure, router } from './trpc.ts'

const MAX_RULE_CHARS = 10_000

export const rulesRouter = router({
  /** Every file with rules for the project, in the order in which they are asked; those of the personas are with the personas. */
  list: procedure
    .input(byProject)
    .query(
      async ({ ctx, input }): Promise<PolicySource[]> =>
        ctx.host.policies.sources(await ctx.projects.require(input.project)),
    ),

  /** Takes back a rule of the user's own, by its line and its words. Files of the project are the project's. */
  remove: procedure
    .input(
      z.strictObject({
        project,
        scope: z.enum(['global', 'project']),
        line: z.int().positive(),
        text: z.string().min(1).max(MAX_RULE_CHARS),
      }),
    )
    .mutation(async ({ ctx, input: { project: folder, scope, line, text } }): Promise<PolicySource[]> => {
      const root = await ctx.projects.require(folder)
      if (!(await ctx.host.policies.removeRule(root, scope, { line, text })))
        throw new CallError(
          'CONFLICT',
          'changed',
          'The file of this rule has changed since it was read. Look at the rules again.',
        )
      return ctx.host.policies.sources(root)
    }),
})
