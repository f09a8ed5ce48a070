import type { HarnessTurnOpts, PermissionMode, PriceTable, SessionHarness } from '@chirality/core'
import type { PersonaManager } from '@chirality/personas'
import type { HarnessRegistry } from '@chirality/runner'
import type { EndingTurn, StartingTurn, Worktrees } from '@chirality/workspaces'
import type { BudgetBook } from '../budget/budget-book.ts'
import type { ProjectBudget } from '../budget/project-budget.ts'
import type { FindElsewhere } from '../budget/spent-elsewhere.ts'
import type { AskContext, PolicyGuard } from '../decisions/ask-context.ts'
import type { HarnessLog } from '../harness-log/harness-log.ts'
import type { SessionStatus } from '../status/session-status.ts'
import type { SessionStore } from '../store/session-store.ts'
import type { ToolServerBook } from '../tool-servers/tool-server-book.ts'
import type { CageSettings } from '../trust/cage-settings.ts'
import type { OwnSetups } from '../trust/own-setups.ts'
import type { PersonaConsent } from '../trust/persona-consent.ts'
import type { ProjectTrust } from '../trust/project-trust.ts'
import type { TrustStore } from '../trust/trust-store.ts'
import type { LeavingSessions } from './leaving-sessions.ts'

/** The parts that every session of a host uses. */
export interface HostContext {
  store: SessionStore
  harnesses: HarnessRegistry<SessionHarness>
  personas: PersonaManager
  /** The persona permissions that the user granted. */
  consent: PersonaConsent
  /** The current prices: the user's file is read for each turn. Throws if the file has an error. */
  prices: () => PriceTable
  budgets: BudgetBook
  spentElsewhere: FindElsewhere
  trust: ProjectTrust
  /** The user's own tool servers. */
  toolServers: ToolServerBook
  worktrees: Worktrees
  /** Those that go to another machine. */
  leaving: LeavingSessions
  /** The set-up files that the user allowed. */
  allowedSetups: TrustStore
  /** How the user sets up worktrees: in the place of a project's own file. */
  ownSetups: OwnSetups
  /** Which projects the user keeps in a cage. */
  cages: CageSettings
  /** Records the files before a turn: its agent is asked after this. Resolves with a warning; never rejects. */
  beforeTurn: (turn: StartingTurn) => Promise<string | undefined>
  /** Records the files when the agent of a turn rests: its end is told after this. Resolves with a warning; never rejects. */
  afterTurn: (turn: EndingTurn) => Promise<string | undefined>
  /** Values that must not be in harness.log. */
  secrets: readonly string[]
  /** Handles an agent's permission requests. */
  decider: (context: AskContext) => NonNullable<HarnessTurnOpts['decide']>
  /** The error in the policies, for as long as a request of the session waits because of it. */
  policyProblem: (sessionId: string) => string | null
  /** The check before each tool call. */
  guard: (context: AskContext, mode: PermissionMode) => Promise<PolicyGuard | undefined>
}

/** The parts that the sessions of one project share. */
export interface ProjectContext extends HostContext {
  projectRoot: string
  harnessLog: HarnessLog
  budget: ProjectBudget
  /** The other sessions of the project with a running turn: their agents work in the same folder. */
  othersAtWork: (sessionId: string) => SessionStatus[]
}
