import { BEHAVIOURS } from '@chirality/conformance'
import type { BudgetState } from '@chirality/sessions'
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import { CALLS } from '../contract/calls.ts'
import { callError } from '../errors/call-error.ts'
import { agentsRouter } from './agents-router.ts'
import type { CallContext } from './context.ts'
import { dataRouter } from './data-router.ts'
import { fleetRouter, sessionRouter } from './events-router.ts'
import { filesRouter } from './files-router.ts'
import { liveSession } from './live-session.ts'
import { loopsRouter } from './loops-router.ts'
import { personasRouter } from './personas-router.ts'
import { projectsRouter } from './projects-router.ts'
import { reviewRouter } from './review-router.ts'
import { schedulesRouter } from './schedules-router.ts'
import { sessionsRouter } from './sessions-router.ts'
import { systemRouter } from './system-router.ts'
import { toolServersRouter } from './tool-servers-router.ts'
import { ask, call, router } from './trpc.ts'
import { trustRouter } from './trust-router.ts'
import { decisionsRouter, turnsRouter } from './turns-router.ts'
import { worktreesRouter } from './worktrees-router.ts'

const budgetsRouter = router({
  get: call(CALLS.budgets.get).query(async ({ ctx, input }) => {
    const root = await ctx.projects.require(input.project)
    return withElsewhere(ctx, root, (await ctx.host.budgets.read(root)).state)
  }),

  /** null is no limit; undefined leaves a limit unchanged. */
  set: call(CALLS.budgets.set).mutation(async ({ ctx, input }) => {
    const { maxCostUsd, maxIterations, maxTokens, maxMinutes } = input
    const root = await ctx.projects.require(input.project)
    const state = await ctx.host.budgets.setLimits(root, {
      ...(maxCostUsd === undefined ? {} : { max_cost_usd: maxCostUsd }),
      ...(maxIterations === undefined ? {} : { max_iterations: maxIterations }),
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
      ...(maxMinutes === undefined ? {} : { max_minutes: maxMinutes }),
    })
    return withElsewhere(ctx, root, state)
  }),

  /** The limits of all turns of a session together. null is no limit; undefined leaves a limit unchanged. */
  setSession: call(CALLS.budgets.setSession).mutation(async ({ ctx, input }) => {
    const session = await liveSession(ctx, input.sessionId)
    const { budgetUsd: usd, budgetTokens: tokens, budgetMinutes: minutes } = input
    return session.setBudget({ usd, tokens, minutes })
  }),
})

/** Limits and sums of this machine, and what the other machines said that they spent on the same project. */
async function withElsewhere({ host }: CallContext, root: string, state: BudgetState) {
  const elsewhere = await host.spentElsewhere(root)
  return {
    ...state,
    elsewhere: elsewhere.map(({ machine, usd, tokens, ms, turns, at }) => ({
      ...{ machine, usd, tokens, turns, at, minutes: ms / MINUTE_MS },
    })),
  }
}

const MINUTE_MS = 60_000

const harnessesRouter = router({
  list: ask(CALLS.harnesses.list).query(({ ctx }) =>
    ctx.harnesses.getAll().map(harness => ({
      ...harness.meta(),
      models: harness.models(),
      capabilities: harness.capabilities(),
      usesProjectFiles: harness.projectFiles !== undefined,
    })),
  ),

  /** Whether each harness is installed and logged in. */
  status: ask(CALLS.harnesses.status).query(async ({ ctx }) => {
    return Object.fromEntries(await ctx.harnesses.checkAllInstallStatus())
  }),

  /** What the last trial of each agent showed. */
  trials: ask(CALLS.harnesses.trials).query(async ({ ctx: { trials } }) => ({
    running: trials.running,
    reports: await trials.results(),
    behaviours: BEHAVIOURS,
  })),

  /** Runs an agent through scripted conversations, without an account and without tokens. Takes up to two minutes. */
  tryOut: call(CALLS.harnesses.tryOut).mutation(async ({ ctx, input }) =>
    ctx.trials.run(ctx.harnesses.getOrThrow(input.harness).id),
  ),

  /** The models that the installed agent itself offers, where it says. */
  models: call(CALLS.harnesses.models).query(async ({ ctx, input, signal }) => {
    const root = await ctx.projects.require(input.project)
    const harness = ctx.harnesses.getOrThrow(input.harness)
    return (await harness.discoverModels?.(root, signal)) ?? harness.models()
  }),

  slashCommands: call(CALLS.harnesses.slashCommands).query(async ({ ctx, input, signal }) => {
    const root = await ctx.projects.require(input.project)
    const { isTrusted: trustProject } = await ctx.host.trust.state(root)
    return ctx.harnesses.getOrThrow(input.harness).discoverSlashCommands(root, signal, { trustProject })
  }),
})

const rulesRouter = router({
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

export const appRouter = router({
  projects: projectsRouter,
  harnesses: harnessesRouter,
  agents: agentsRouter,
  personas: personasRouter,
  sessions: sessionsRouter,
  turns: turnsRouter,
  decisions: decisionsRouter,
  files: filesRouter,
  review: reviewRouter,
  worktrees: worktreesRouter,
  loops: loopsRouter,
  schedules: schedulesRouter,
  budgets: budgetsRouter,
  rules: rulesRouter,
  toolServers: toolServersRouter,
  trust: trustRouter,
  data: dataRouter,
  system: systemRouter,
  session: sessionRouter,
  fleet: fleetRouter,
})

/** All procedures of the dashboard. */
export type AppRouter = typeof appRouter

/** Input and output of each procedure, by router and name, as a client sees them. */
export type CallInputs = inferRouterInputs<AppRouter>
export type CallOutputs = inferRouterOutputs<AppRouter>

/** Which procedures are queries and which are mutations, by path. Subscriptions are neither. */
export function callTypes(of: AppRouter): Map<string, 'query' | 'mutation'> {
  const known = of._def.procedures as unknown as Record<string, { _def: { type: string } }>
  return new Map(
    Object.entries(known).flatMap(
      ([
        path,
        {
          _def: { type },
        },
      ]) => (type === 'query' || type === 'mutation' ? [[path, type] as const] : []),
    ),
  )
}
