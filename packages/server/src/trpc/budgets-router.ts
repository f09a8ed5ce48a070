import type { BudgetState, StoredSession } from '@chirality/sessions'
import { z } from 'zod'
import { byProject, project, sessionId } from './inputs.ts'
import { liveSession } from './live-session.ts'
import { procedure, router } from './trpc.ts'

const limit = z.number().nonnegative().max(1_000_000).nullable()
const tokenLimit = z.int().nonnegative().nullable()
/** A year. */
const minuteLimit = z.number().nonnegative().max(525_600).nullable()

export const budgetsRouter = router({
  get: procedure
    .input(byProject)
    .query(
      async ({ ctx, input }): Promise<BudgetState> =>
        (await ctx.host.budgets.read(await ctx.projects.require(input.project))).state,
    ),

  /** null is no limit; what is left out stays. */
  set: procedure
    .input(
      z.strictObject({
        ...{ project, maxCostUsd: limit.optional(), maxIterations: limit.optional() },
        ...{ maxTokens: tokenLimit.optional(), maxMinutes: minuteLimit.optional() },
      }),
    )
    .mutation(async ({ ctx, input }): Promise<BudgetState> => {
      const { maxCostUsd, maxIterations, maxTokens, maxMinutes } = input
      return ctx.host.budgets.setLimits(await ctx.projects.require(input.project), {
        ...(maxCostUsd === undefined ? {} : { max_cost_usd: maxCostUsd }),
        ...(maxIterations === undefined ? {} : { max_iterations: maxIterations }),
        ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
        ...(maxMinutes === undefined ? {} : { max_minutes: maxMinutes }),
      })
    }),

  /** What all turns of a session may spend together. null is no limit; what is left out stays. */
  setSession: procedure
    .input(
      z.strictObject({
        ...{ sessionId, budgetUsd: limit.optional(), budgetTokens: tokenLimit.optional() },
        budgetMinutes: minuteLimit.optional(),
      }),
    )
    .mutation(async ({ ctx, input }): Promise<StoredSession> => {
      const session = await liveSession(ctx, input.sessionId)
      const { budgetUsd: usd, budgetTokens: tokens, budgetMinutes: minutes } = input
      return session.setBudget({ usd, tokens, minutes })
    }),
})
