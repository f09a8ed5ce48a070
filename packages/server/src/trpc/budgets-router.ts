import { type BudgetState, budgetFile } from '@chirality/sessions'
import { z } from 'zod'
import { byProject, project } from './inputs.ts'
import { procedure, router } from './trpc.ts'

const limit = z.number().nonnegative().max(1_000_000).nullable()

export const budgetsRouter = router({
  get: procedure
    .input(byProject)
    .query(
      async ({ ctx, input }): Promise<BudgetState> =>
        budgetFile.read(await ctx.projects.require(input.project)),
    ),

  /** null is no limit; what is left out stays. */
  set: procedure
    .input(z.strictObject({ project, maxCostUsd: limit.optional(), maxIterations: limit.optional() }))
    .mutation(async ({ ctx, input }): Promise<BudgetState> => {
      const { maxCostUsd, maxIterations } = input
      return budgetFile.update(await ctx.projects.require(input.project), state => ({
        ...state,
        ...(maxCostUsd === undefined ? {} : { max_cost_usd: maxCostUsd }),
        ...(maxIterations === undefined ? {} : { max_iterations: maxIterations }),
      }))
    }),
})
