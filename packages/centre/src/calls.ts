import { type AnyCall, type CallTree, flatCalls } from './call.ts'
import { agentCalls as agents } from './calls/agents.ts'
import { budgetCalls as budgets } from './calls/budgets.ts'
import { dataCalls as data } from './calls/data.ts'
import { decisionCalls as decisions } from './calls/decisions.ts'
import { eventCalls as session } from './calls/events.ts'
import { fileCalls as files } from './calls/files.ts'
import { fleetCalls as fleet } from './calls/fleet.ts'
import { harnessCalls as harnesses } from './calls/harnesses.ts'
import { loopCalls as loops } from './calls/loops.ts'
import { personaCalls as personas } from './calls/personas.ts'
import { projectCalls as projects } from './calls/projects.ts'
import { reviewCalls as review } from './calls/review.ts'
import { ruleCalls as rules } from './calls/rules.ts'
import { scheduleCalls as schedules } from './calls/schedules.ts'
import { sessionCalls as sessions } from './calls/sessions.ts'
import { systemCalls as system } from './calls/system.ts'
import { toolServerCalls as toolServers } from './calls/tool-servers.ts'
import { trustCalls as trust } from './calls/trust.ts'
import { turnCalls as turns } from './calls/turns.ts'
import { worktreeCalls as worktrees } from './calls/worktrees.ts'

/**
 * All that the application can be asked. The name of a call is its path here. Transports, OpenAPI, the fleet and tests read
 * this tree.
 */
export const CALLS = {
  projects,
  harnesses,
  personas,
  sessions,
  turns,
  decisions,
  files,
  worktrees,
  agents,
  review,
  loops,
  schedules,
  budgets,
  rules,
  toolServers,
  trust,
  data,
  system,
  session,
  fleet,
} satisfies CallTree

/** Every call by its path, such as `turns.queue.edit`. */
export const EVERY_CALL: ReadonlyMap<string, AnyCall> = flatCalls(CALLS)
