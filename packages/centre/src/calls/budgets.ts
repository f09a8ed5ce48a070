import type { BudgetState } from '@chirality/sessions'
import { z } from 'zod'
import { mutation, query } from '../call.ts'
import type { Centre } from '../centre.ts'
import { liveSession } from '../sessions/live-session.ts'
import { budgetState, sessionRecord } from '../shapes/sessions.ts'
import { byProject, project, sessionId } from '../shapes/values.ts'

const limit = z.number().nonnegative().max(1_000_000).nullable().optional()
const tokenLimit = z.int().nonnegative().nullable().optional()
/** A year. */
const minuteLimit = z.number().nonnegative().max(525_600).nullable().optional()

export const budgetCalls = {
  get: query({
    about: 'Gives the limits of a project, and what was spent on it.',
    input: byProject,
    output: budgetState,
    run: async (centre, input) => {
      const root = await centre.projects.require(input.project)
      return withElsewhere(centre, root, (await centre.host.budgets.read(root)).state)
    },
  }),

  set: mutation({
    about: 'Sets limits of a project. Null is no limit; a limit that is left out stays as it is.',
    input: z.strictObject({
      project,
      maxCostUsd: limit,
      maxIterations: limit,
      maxTokens: tokenLimit,
      maxMinutes: minuteLimit,
    }),
    output: budgetState,
    run: async (centre, { project: folder, maxCostUsd, maxIterations, maxTokens, maxMinutes }) => {
      const root = await centre.projects.require(folder)
      const state = await centre.host.budgets.setLimits(root, {
        ...(maxCostUsd === undefined ? {} : { max_cost_usd: maxCostUsd }),
        ...(maxIterations === undefined ? {} : { max_iterations: maxIterations }),
        ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
        ...(maxMinutes === undefined ? {} : { max_minutes: maxMinutes }),
      })
      return withElsewhere(centre, root, state)
    },
  }),

  setSession: mutation({
    about:
      'Sets limits of all turns of a session together. Null is no limit; a limit that is left out stays as it is.',
    input: z.strictObject({
      sessionId,
      budgetUsd: limit,
      budgetTokens: tokenLimit,
      budgetMinutes: minuteLimit,
    }),
    output: sessionRecord,
    where: 'owner',
    run: async (centre, { sessionId: id, budgetUsd: usd, budgetTokens: tokens, budgetMinutes: minutes }) =>
      (await liveSession(centre, id)).setBudget({ usd, tokens, minutes }),
  }),
}

/** Limits and sums of this machine, and what the other machines said that they spent on the same project. */
async function withElsewhere({ host }: Pick<Centre, 'host'>, root: string, state: BudgetState) {
  const elsewhere = await host.spentElsewhere(root)
  return {
    ...state,
    elsewhere: elsewhere.map(({ ms, machine, usd, tokens, turns, at }) => ({
      machine,
      usd,
      tokens,
      turns,
      at,
      minutes: ms / MINUTE_MS,
    })),
  }
}

const MINUTE_MS = 60_000
