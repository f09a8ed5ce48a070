import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server'
import { budgetsRouter } from './budgets-router.ts'
import { fleetRouter, sessionRouter } from './events-router.ts'
import { filesRouter } from './files-router.ts'
import { harnessesRouter } from './harnesses-router.ts'
import { personasRouter } from './personas-router.ts'
import { projectsRouter } from './projects-router.ts'
import { rulesRouter } from './rules-router.ts'
import { sessionsRouter } from './sessions-router.ts'
import { systemRouter } from './system-router.ts'
import { router } from './trpc.ts'
import { trustRouter } from './trust-router.ts'
import { decisionsRouter, turnsRouter } from './turns-router.ts'

export const appRouter = router({
  projects: projectsRouter,
  harnesses: harnessesRouter,
  personas: personasRouter,
  sessions: sessionsRouter,
  turns: turnsRouter,
  decisions: decisionsRouter,
  files: filesRouter,
  budgets: budgetsRouter,
  rules: rulesRouter,
  trust: trustRouter,
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
