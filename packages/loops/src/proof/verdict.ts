import type { VerdictCounts, VerdictWord } from '@chirality/core'
import type { CheckRecord } from '../checks.ts'

export const FLAG_KINDS = [
  /** Tests, or files with tests, are gone. */
  'tests-deleted',
  'tests-skipped',
  'tests-weakened',
  /** Scripts, configuration or helpers that decide what the checks run were changed. */
  'checks-changed',
  /** With the tests of the base the checks do not hold. */
  'judged-differently',
  /** A check reads it, and no rule knows what it is. */
  'unknown-matter',
  /** A check ended well without a test, or its tests cannot be counted as before. */
  'no-tests',
  /** The new tests hold without the change as well. */
  'proves-nothing',
  /** The code asks whether it is being tested. */
  'test-aware',
  /** Files that git does not show were changed, and a check reads them. */
  'hidden-change',
  /** A check does not say the same each time, or was red before. */
  'base-not-green',
  /** A part of the proof could not be made or read. */
  'not-known',
  'ci-changed',
  'lock-changed',
  'secret-path',
  'large-deletion',
] as const
export type FlagKind = (typeof FLAG_KINDS)[number]

/** A reason for a person to look, found without a model. */
export interface Flag {
  kind: FlagKind
  words: string
  files: string[]
}

/** Counts of the runner itself. */
export interface TestCounts {
  tests: number
  passed: number
  failed: number
  skipped: number
  todo: number
  /** Expected to fail, and did: they prove nothing of the code. */
  failingByDesign: number
  /** Read from the test files; those that hold for any code, as `t.pass()`, do not count. Null if no file is known. */
  assertions: number | null
  /** Test files that ran, relative to the folder of the check. Null if the report does not name them. */
  files: string[] | null
}

/** Kept part of the count of one run of a check. */
export interface RunCounts {
  runner: string
  counts: TestCounts
  /** The names of the tests that failed. */
  failing: string[]
}

/** Count of one run of a check. */
export interface CheckCount {
  /** Null if no runner that is known could be read. */
  counted: RunCounts | null
  /** The runner is known and its report could not be read: why. */
  uncounted?: string
}

/** Result of a check before anything was changed. */
export interface BaseResult extends CheckCount {
  command: string
  /** `flaky`: two runs did not agree. `missing`: a program that it needs is not there. */
  state: 'green' | 'red' | 'flaky' | 'missing'
  exitCode: number | null
  tail: string
}

/** The checks on the agent's code with what judges it as in the base. */
export type Judged =
  /** Nothing that judges was changed: the run on the agent's tree is this one, too. */
  | { kind: 'same' }
  | { kind: 'ran'; results: CheckRecord[]; putBack: string[] }
  | { kind: 'unreadable'; why: string }

/** The new tests on the old code. */
export type RedGreen =
  | { kind: 'none' }
  /** They fail there, as they should. */
  | { kind: 'red' }
  | { kind: 'green'; why: string }
  | { kind: 'unreadable'; why: string }

export interface Mutants {
  tried: number
  /** Number that was to be tried, if their time was over before. */
  planned?: number
  survived: { file: string; line: number; change: string }[]
}

/** Why a task counts as it does. In the journal, in receipts and in the API. */
export interface Proof {
  base: BaseResult[]
  own: CheckRecord[]
  judged: Judged
  counts: { before: TestCounts | null; after: TestCounts | null; by: string | null }
  fresh: RedGreen
  mutants?: Mutants
  flags: Flag[]
}

export type Verdict =
  /** The checks held on the agent's tree and with the tests of the base, and there is nothing to look at. */
  | { word: 'proved' }
  /** They held, and a person must see something. */
  | { word: 'look'; flags: Flag[] }
  /** It is merged, and no check says that it is right. */
  | { word: 'no-check'; flags: Flag[] }
  | { word: 'not-proved' }
  | { word: 'parked' }

/** The part of a task that `verdictOf` reads. */
export interface Judgeable {
  status: 'working' | 'merged' | 'parked' | 'failed' | 'reverted'
  proof?: Proof
  /** Flags of a task that an older version merged: it wrote no proof. */
  flags?: Flag[]
}

/** The one word for a task. Undefined while it is worked on, and for one whose change was taken back. */
export function verdictOf({ status, proof, flags = [] }: Judgeable): Verdict | undefined {
  if (status === 'parked') return { word: 'parked' }
  if (status === 'failed') return { word: 'not-proved' }
  if (status !== 'merged') return undefined
  if (proof === undefined) return { word: 'look', flags: [...flags, NO_PROOF] }
  if (!saysSomething(proof)) return { word: 'no-check', flags: proof.flags }
  return proof.flags.length === 0 ? { word: 'proved' } : { word: 'look', flags: proof.flags }
}

/** Flags that a person must see of a task that is merged. */
export function flagsOf(task: Judgeable): Flag[] {
  const verdict = verdictOf(task)
  return verdict !== undefined && 'flags' in verdict ? verdict.flags : []
}

/** Counts tasks by their verdict. */
export function verdictCounts(tasks: Iterable<Judgeable>): VerdictCounts {
  const counts: VerdictCounts = { proved: 0, look: 0, noCheck: 0, parked: 0, failed: 0 }
  for (const task of tasks) {
    const verdict = verdictOf(task)
    if (verdict !== undefined) counts[COUNTED_AS[verdict.word]] += 1
  }
  return counts
}

/** Why a loop with nothing to go has ended: a change that no check speaks for is not called proved. */
export function doneWords({ look, noCheck }: VerdictCounts): string {
  if (noCheck > 0) return `Every task is merged, and no check says that ${noCheck} of them are right.`
  return look > 0 ? `Every task is proved, and ${look} of them need a look.` : 'Every task is proved.'
}

const COUNTED_AS: Record<VerdictWord, keyof VerdictCounts> = {
  proved: 'proved',
  look: 'look',
  'no-check': 'noCheck',
  'not-proved': 'failed',
  parked: 'parked',
}

/** True if a check passed: one that was red before and still is says nothing. */
function saysSomething({ own }: Proof): boolean {
  return own.some(({ exitCode }) => exitCode === 0)
}

const NO_PROOF: Flag = {
  kind: 'not-known',
  words: 'An earlier version merged it: its checks ran only once, with the tests that the agent left.',
  files: [],
}
