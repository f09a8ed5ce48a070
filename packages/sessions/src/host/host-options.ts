import type { HarnessId, PermissionMode, PriceTable, SessionHarness, SessionMode } from '@chirality/core'
import type { PersonaManager } from '@chirality/personas'
import type { HarnessRegistry } from '@chirality/runner'
import type { TurnChanges } from '@chirality/workspaces'
import type { FindElsewhere } from '../budget/spent-elsewhere.ts'
import type { DecisionBroker } from '../decisions/decision-broker.ts'
import { startError } from '../session-errors.ts'
import type { SessionSettings } from '../store/session-settings.ts'

export interface SessionHostOptions {
  harnesses: HarnessRegistry<SessionHarness>
  /** The address of this process, for the lock file of each project. */
  address: string
  /** The user's data folder. */
  home?: string
  personas?: PersonaManager
  /** Default: the list prices, and those of `prices.json` in the user's data folder. */
  prices?: PriceTable
  /** Values that must not appear in harness.log. Default: the secrets in the environment. */
  secrets?: readonly string[]
  /** Answers the agents' requests. Default: a broker that waits for a person. */
  decisions?: DecisionBroker
  /** How long a request waits for a person before it is denied. Null, the default: no limit. */
  decisionTimeoutMs?: number | null
  /** What other machines spent on a project: its budget counts that, too. */
  spentElsewhere?: FindElsewhere | undefined
  /**
   * Records the files of projects with git before and after each turn. Default: its own, with the default limits.
   * `new TurnChanges({ records: false })` records none.
   */
  changes?: TurnChanges
}

export interface NewSession {
  persona?: string | null
  mode?: SessionMode
  harness?: HarnessId
  model?: string
  title?: string
  /**
   * `bypassPermissions` is refused: agents can write the project's files, and the mode would free them. Pass it with
   * each turn.
   */
  permissionMode?: PermissionMode
  thinking?: SessionSettings['thinking']
  /** The maximum cost of all its turns together. */
  budgetUsd?: number
  /** The maximum number of model and tool rounds in one turn. Undefined: no limit, or 25 in pipeline mode. */
  maxTurns?: number
  /** The maximum number of tokens that models may read and write in all its turns together. */
  budgetTokens?: number
  /** Its agent works in a worktree of its own, from `base` or what is checked out, or in the
   * one with this id. Default: in the project's folder.
   */
  worktree?: { base?: string | undefined } | { id: string }
  /** An id of the caller's, by which it finds the session again after a crash. */
  id?: string
  /** The maximum duration of all its turns together, without the time they wait for a person. */
  budgetMinutes?: number
}

type KeepableMode = Exclude<PermissionMode, 'bypassPermissions'>

/**
 * A mode that a session may store. Its agent can write the session's file, so the file must not be able to switch all
 * checks off.
 */
export function keepable(mode: PermissionMode | undefined): KeepableMode | undefined {
  if (mode !== 'bypassPermissions') return mode
  const message = 'bypassPermissions cannot be a setting of a session. Give it with each turn.'
  throw startError('unsupported', message)
}
