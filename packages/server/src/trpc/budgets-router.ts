import { CALLS } from '../contract/calls.ts'
import { liveSession } from './live-session.ts'
import { call, router } from './trpc.ts'

export const budgetsRouter = router({
  get: call(CALLS.budgets.get).query(
    async ({ ctx, input }) => (await ctx.host.budgets.read(await ctx.projects.require(input.project))).state,
  ),

  /** null is no limit; undefined leaves a limit unchanged. */
  set: call(CALLS.budgets.set).mutation(async ({ ctx, input }) => {
    const { maxCostUsd, maxIterations, maxTokens, maxMinutes } = input
    return ctx.host.budgets.setLimits(await ctx.projects.require(input.project), {
      ...(maxCostUsd === undefined ? {} : { max_cost_usd: maxCostUsd }),
      ...(maxIterations === undefined ? {} : { max_iterations: maxIterations }),
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
      ...(maxMinutes === undefined ? {} : { max_minutes: maxMinutes }),
    })
  }),

  /** The limits of all turns of a session together. null is no limit; undefined leaves a limit unchanged. */
  setSession: call(CALLS.budgets.setSession).mutation(async ({ ctx, input }) => {
    const session = await liveSession(ctx, input.sessionId)
    const { budgetUsd: usd, budgetTokens: tokens, budgetMinutes: minutes } = input
    return session.setBudget({ usd, tokens, minutes })
  }),
})
