import type { CheckRecord } from './checks.ts'
import type { DiffStat, ParkKind, PlanLimit, Spent, TaskStart, TurnError } from './journal.ts'
import type { CheckCount, Flag, Proof } from './proof/verdict.ts'
import { addSpent } from './spent.ts'
import type { Task } from './task-list.ts'

/** `working` is one that was begun and is not over; a loop that does not run may have such tasks, too. */
export type TaskStatus = 'working' | 'merged' | 'parked' | 'failed' | 'reverted'

/** What is begun and not over, in the words of the journal. */
export type TaskStage =
  | { at: 'rest' }
  | { at: 'turn'; fromSeq: number; since: string }
  | { at: 'ended'; reason: string }
  | { at: 'checks'; marker: string; reason: string }
  | { at: 'passed'; tree: string }
  | { at: 'proved'; commit: string }
  | { at: 'merging'; commit: string; onto: string }

/** A task that was begun. */
export interface TaskState {
  task: Task
  status: TaskStatus
  stage: TaskStage
  sessionId: string
  worktreeId: string
  base: string
  isSetUp: boolean
  iterations: number
  /** Since a person put it back. */
  attempts: number
  spent: Spent
  /** In sessions before the present one. */
  spentBefore?: Spent
  /** The agent that it was handed to last, in the place of the one that the list names. */
  harness?: string
  /** Each time that another agent took it over, oldest first. */
  handed?: HandOver[]
  /** Its sessions of attempts before, with the same agent, and what they spent. */
  earlier?: { sessionId: string; spent: Spent }[]
  /** How its last turn failed. `same`: turns in a row that failed so and changed no file. */
  fault?: TurnError & { same: number }
  /** What its agent was not allowed in its last turn. */
  denied?: string[]
  /** The machine of the fleet that makes, or made, its last turn. */
  machine?: string
  /** Why its turn waits for a machine. */
  waits?: string
  startedAt: string
  endedAt?: string
  /** The last checks. */
  tree?: string
  diff?: DiffStat
  results: CheckRecord[]
  failure?: string
  /** For each of the results: what it tested. */
  counted?: CheckCount[]
  /** The changed files that the last checks read. Null if that could not be seen. */
  read?: string[] | null
  /** Changed files that git was told not to look at, in any iteration. */
  hidden?: string[]
  parked?: ParkKind
  why?: string
  /** It is parked because nobody allowed these commands, or with a question that offers these answers. */
  commands?: string[]
  options?: string[]
  /** It is parked because these checks were taken out of the list since the loop began. */
  missing?: string[]
  notes: string[]
  commit?: string
  merged?: string
  /** The hash of its receipt. */
  receipt?: string
  /** The hash of what its agent was told last. */
  prompt?: string
  /** The commit of the loop's branch at which a revert of it was begun. */
  reverting?: string
  /** Of a version that wrote no proof. */
  flags?: Flag[]
  proof?: Proof
  /** The branch that a person merged it into, and the commit there. */
  accepted?: { into: string; commit: string }
}

export interface HandOver {
  from: string
  to: string
  /** The session of the agent before, and what it has spent. */
  sessionId: string
  spent: Spent
  at: string
  why: string
}

// What entries of the journal change in a task, in place.

export function beginTask(
  tasks: Map<string, TaskState>,
  { task, ...names }: TaskStart,
  startedAt: string,
): TaskState {
  const { sessionId, worktreeId, base } = names
  const begun: TaskState = {
    ...{ task, status: 'working', stage: { at: 'rest' }, sessionId, worktreeId, base, isSetUp: false },
    ...{ iterations: 0, attempts: 0, spent: { usd: null, isEstimate: false, tokens: 0 }, startedAt },
    ...{ results: [], notes: [] },
  }
  tasks.set(task.id, begun)
  return begun
}

export function putBack(task: TaskState): void {
  task.status = 'working'
  task.stage = { at: 'rest' }
  task.attempts = 0
  // What follows is not compared with what was before: `tree`.
  for (const key of ['tree', 'parked', 'why', 'commands', 'options', 'missing', 'endedAt', 'denied'] as const)
    delete task[key]
  // Kept, because a conversation that was too long stays so.
  if (task.fault !== undefined) task.fault = { ...task.fault, crashes: 0, same: 0 }
}

export function inNewSession(task: TaskState, sessionId: string): void {
  task.sessionId = sessionId
  task.spentBefore = addSpent(task.spentBefore, task.spent)
  task.spent = { usd: null, isEstimate: false, tokens: 0 }
}

export function applyFault(task: TaskState, error: TurnError | undefined): void {
  const { fault: before } = task
  delete task.fault
  if (error === undefined) return
  const same = before?.code === error.code ? before.same + 1 : 1
  const crashes = error.crashes === undefined ? {} : { crashes: error.crashes + (before?.crashes ?? 0) }
  task.fault = { ...error, ...crashes, same }
}

/** The agent had no chance: what it was asked is asked again, of it or of another one. */
export function applyLimit(
  limited: Map<string, string>,
  task: TaskState,
  { harness, until }: PlanLimit,
): void {
  task.attempts -= 1
  task.stage = { at: 'rest' }
  if (until !== undefined) limited.set(harness, until)
}
