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

/** All that the dashboard needs to know of the server. */
export type AppRouter = typeof appRouter
