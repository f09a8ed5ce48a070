import type { HarnessId, PermissionMode, PriceTable, SessionHarness, SessionMode } from '@chirality/core'
import type { PersonaManager } from '@chirality/personas'
import type { HarnessRegistry } from '@chirality/runner'
import type { DecisionBroker } from '../decisions/decision-broker.ts'
import { SessionStartError } from '../session-errors.ts'
import type { SessionSettings } from '../store/session-settings.ts'

export interface SessionHostOptions {
  harnesses: HarnessRegistry<SessionHarness>
  /** Where this process can be reached, for the lock file of each project. */
  address: string
  /** The user's data folder. */
  home?: string
  personas?: PersonaManager
  /** Default: the list prices, and those of `prices.json` in the user's data folder. */
  prices?: PriceTable
  /** Values that must not be in harness.log, whatever they look like. Default: the secrets in the environment. */
  secrets?: readonly string[]
  /** Answers what agents ask. Default: one that waits for a person. */
  decisions?: DecisionBroker
  /** How long a request waits for a person before the answer is no. Null, the default: for ever. */
  decisionTimeoutMs?: number | null
}

export interface NewSession {
  persona?: string | null
  mode?: SessionMode
  harness?: HarnessId
  model?: string
  title?: string
  /** `bypassPermissions` is refused: what a project keeps can be changed by those it is to hold back. Give it with turns. */
  permissionMode?: PermissionMode
  thinking?: SessionSettings['thinking']
  /** The most that all its turns may cost together. */
  budgetUsd?: number
  /** The most rounds of model and tools in one turn. Left out: no limit, or 25 in pipeline mode. */
  maxTurns?: number
  /** The most tokens that models may read and write in all its turns together. */
  budgetTokens?: number
  /** The most time that all its turns may take together, without what they wait for a person. */
  budgetMinutes?: number
}

type KeepableMode = Exclude<PermissionMode, 'bypassPermissions'>

/** A mode that a session may keep. Its file lies where its agent can write: it must not be able to free itself for ever. */
export function keepable(mode: PermissionMode | undefined): KeepableMode | undefined {
  if (mode !== 'bypassPermissions') return mode
  const message = 'bypassPermissions cannot be a setting of a session. Give it with each turn.'
  throw new SessionStartError('unsupported', message)
}
