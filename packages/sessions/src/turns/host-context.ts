import type { HarnessTurnOpts, PermissionMode, PriceTable, SessionHarness } from '@chirality/core'
import type { PersonaManager } from '@chirality/personas'
import type { HarnessRegistry } from '@chirality/runner'
import type { BudgetBook } from '../budget/budget-book.ts'
import type { ProjectBudget } from '../budget/project-budget.ts'
import type { AskContext, PolicyGuard } from '../decisions/ask-context.ts'
import type { HarnessLog } from '../harness-log/harness-log.ts'
import type { SessionStatus } from '../status/session-status.ts'
import type { SessionStore } from '../store/session-store.ts'
import type { PersonaConsent } from '../trust/persona-consent.ts'
import type { ProjectTrust } from '../trust/project-trust.ts'

/** What every session of a host works with. */
export interface HostContext {
  store: SessionStore
  harnesses: HarnessRegistry<SessionHarness>
  personas: PersonaManager
  /** What of a persona the user allowed. */
  consent: PersonaConsent
  /** As they are now: the user's file is read for each turn. Throws what is wrong with it. */
  prices: () => PriceTable
  budgets: BudgetBook
  trust: ProjectTrust
  /** Values that must not be in harness.log. */
  secrets: readonly string[]
  /** Where what an agent asks is put. */
  decider: (context: AskContext) => NonNullable<HarnessTurnOpts['decide']>
  /** What is wrong with the policies, for as long as a request of the session waits because of it. */
  policyProblem: (sessionId: string) => string | null
  /** What holds before each call of a tool. */
  guard: (context: AskContext, mode: PermissionMode) => Promise<PolicyGuard | undefined>
}

/** What the sessions of one project share. */
export interface ProjectContext extends HostContext {
  projectRoot: string
  harnessLog: HarnessLog
  budget: ProjectBudget
  /** The other sessions of the project that have a turn: their agents work in the same folder. */
  othersAtWork: (sessionId: string) => SessionStatus[]
}
