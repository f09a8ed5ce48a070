import type { SessionHost } from '@chirality/sessions'
import type { CheckResult } from './checks.ts'
import type { TaskState } from './loop-state.ts'
import type { Proof } from './proof/verdict.ts'
import type { Receipt } from './receipt.ts'

/** One thing that was looked at. `unknown`: it could not be checked. */
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
  /** With the user's data folder: it has the journal of the loop, and the commands that were allowed for it. */
  host: Pick<SessionHost, 'home' | 'worktrees' | 'ownSetups'>
  /** Commands that may run besides those, word for word. */
  allow?: readonly string[]
  signal?: AbortSignal
}

/** What is known of a task: from the journal, and for a loop that is not in the data folder from its receipt alone. */
export interface Facts {
  receipt: Receipt
  task?: TaskState
  setup: string[]
  checks: string[]
  checkMinutes: number
  proof?: Proof
}

export type Add = (part: Finding['part'], result: Finding['result'] | boolean, words: string) => void
