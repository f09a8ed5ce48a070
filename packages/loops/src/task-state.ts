import type { CheckRecord } from './checks.ts'
import type { DiffStat, ParkKind, PlanLimit, Spending, TaskStart, TurnError } from './journal.ts'
import type { CheckCount, Flag, Proof } from './proof/verdict.ts'
import { addSpent } from './spent.ts'
import type { Task } from './task-list.ts'

/** `working` means started and not finished; a loop that does not run may have such tasks too. */
export type TaskStatus = 'working' | 'merged' | 'parked' | 'failed' | 'reverted'

/** Step of a started task, as recorded in the journal. */
export type TaskStage =
  | { at: 'rest' }
  | { at: 'turn'; fromSeq: number; since: string }
  | { at: 'ended'; reason: string }
  | { at: 'checks'; marker: string; reason: string }
  | { at: 'passed'; tree: string }
  | { at: 'proved'; commit: string }
  | { at: 'merging'; commit: string; onto: string }

/** A started task. */
export interface TaskState {
  task: Task
  status: TaskStatus
  stage: TaskStage
  sessionId: string
  worktreeId: string
  base: string
  isSetUp: boolean
  iterations: number
  /** Attempts since a person last resumed the task. */
  attempts: number
  spent: Spending
  /** Spending in earlier sessions. */
  spentBefore?: Spending
  /** The agent that the task was last handed to, instead of the one that the list names. */
  harness?: string
  /** Changes of agent, oldest first. */
  handed?: HandOver[]
  /** Sessions of earlier attempts by the same agent, with their spending. */
  earlier?: { sessionId: string; spent: Spending }[]
  /** Failure of the last turn. `same` counts consecutive turns that failed alike and changed no file. */
  fault?: TurnError & { same: number }
  /** Requests of the agent that were denied in its last turn. */
  denied?: string[]
  /** The machine of the fleet that runs, or ran, the last turn. */
  machine?: string
  /** Why the turn waits for a machine. */
  waits?: string
  startedAt: string
  endedAt?: string
  /** Result of the last checks. */
  tree?: string
  diff?: DiffStat
  results: CheckRecord[]
  failure?: string
  /** Tests counted in each of the results. */
  counted?: CheckCount[]
  /** Changed files that the last checks read. Null if that could not be observed. */
  read?: string[] | null
  /** Changed files that git was told to ignore, in any iteration. */
  hidden?: string[]
  parked?: ParkKind
  why?: string
  /** Commands that were not allowed, or answers that the agent offered, while the task is parked for them. */
  commands?: string[]
  options?: string[]
  /** Checks that were removed from the list since the loop started, while the task is parked for them. */
  missing?: string[]
  notes: string[]
  commit?: string
  merged?: string
  /** Hash of its receipt. */
  receipt?: string
  /** Hash of the agent's last prompt. */
  prompt?: string
  /** Tip of the loop's branch when a revert of the task was started. */
  reverting?: string
  /** Written by versions without a proof. */
  flags?: Flag[]
  proof?: Proof
  /** The branch that a person merged it into, and the commit there. */
  accepted?: { into: string; commit: string }
}

export interface HandOver {
  from: string
  to: string
  /** Session and spending of the previous agent. */
  sessionId: string
  spent: Spending
  at: string
  why: string
}

// Adds a started task to the map.

export function beginTask(
  tasks: Map<string, TaskState>,
  { task, ...names }: TaskStart,
  startedAt: string,
): TaskState {
  const { sessionId, worktreeId, base } = names
  const begun: TaskState = {
    task,
    status: 'working',
    stage: { at: 'rest' },
    sessionId,
    worktreeId,
    base,
    isSetUp: false,
    iterations: 0,
    attempts: 0,
    spent: { usd: null, isEstimate: false, tokens: 0 },
    startedAt,
    results: [],
    notes: [],
  }
  tasks.set(task.id, begun)
  return begun
}

export function putBack(task: TaskState): void {
  task.status = 'working'
  task.stage = { at: 'rest' }
  task.attempts = 0
  // Keeps later results from being compared with earlier ones: `tree`.
  for (const key of ['tree', 'parked', 'why', 'commands', 'options', 'missing', 'endedAt', 'denied'] as const)
    delete task[key]
  // Keeps the code, because a conversation that was too long stays too long.
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

/** Records a limit of the plan: the agent had no chance, so the turn is repeated by it or by another one. */
export function applyLimit(
  limited: Map<string, string>,
  task: TaskState,
  { harness, until }: PlanLimit,
): void {
  task.attempts -= 1
  task.stage = { at: 'rest' }
  if (until !== undefined) limited.set(harness, until)
}
