import type { SessionHost } from '@chirality/sessions'
import type { CheckResult } from './checks.ts'
import type { TaskState } from './loop-state.ts'
import type { Proof } from './proof/verdict.ts'
import type { Receipt } from './receipt.ts'

/** Result of one check of a receipt. `unknown` means that it could not be checked. */
export interface Finding {
  part: 'journal' | 'signature' | 'receipt' | 'commit' | 'change' | 'flags' | 'base' | 'checks' | 'judged'
  result: 'holds' | 'fails' | 'unknown'
  words: string
}

export interface Verification {
  task: { id: string; title: string }
  loopId: string
  commit: string
  findings: Finding[]
  results: CheckResult[]
}

export interface VerifyOptions {
  projectRoot: string
  /** Supplies the user's data folder, with the loop's journal and its allowed commands. */
  host: Pick<SessionHost, 'home' | 'worktrees' | 'ownSetups'>
  /** Further commands that may run, word for word. */
  allow?: readonly string[]
  signal?: AbortSignal
}

/** Known facts about a task: from the journal, or only from the receipt if the data folder lacks the loop. */
export interface Facts {
  receipt: Receipt
  task?: TaskState
  setup: string[]
  checks: string[]
  checkMinutes: number
  proof?: Proof
}

export type Add = (part: Finding['part'], result: Finding['result'] | boolean, words: string) => void
