import type { PermissionRequestEvent } from '@chirality/core'
import type { SessionHost } from '@chirality/sessions'
import type { RunningCommand } from './checks.ts'
import type { JournalEntry, Spending } from './journal.ts'
import type { LoopState } from './loop-state.ts'
import type { Seal } from './machine-key.ts'

/** Abort reason for leaving a loop while its agents continue: another process takes it over. */
export const LEAVE = 'leave'

/** True for the signal of a loop that this process leaves to the next one, while a person's stop ends it. */
export function isSuspended({ reason }: AbortSignal): boolean {
  return reason === LEAVE || reason === 'stop'
}

/** The services of a loop that its tasks use. */
export interface LoopContext {
  readonly host: SessionHost
  readonly state: LoopState
  /** The loop's folder in the user's data folder. */
  readonly folder: string
  readonly seal: Seal
  readonly signal: AbortSignal
  /** The running command of each task. */
  readonly running: Map<string, RunningCommand>
  /** Undefined if this machine is no hub of a fleet. */
  readonly away: AwayTurns | undefined
  /** Ids for a new session and worktree of a task. */
  names(task: string): { sessionId: string; worktreeId: string }
  /** Records all entries, or none if the process is killed. */
  record(...entries: JournalEntry[]): void
  /** Stores a file of the loop, and its copy in the project. */
  put(text: string, ...parts: string[]): void
  /** Records an outside change of the loop's files with the next entry. */
  noteAltered(found: string): void
  /** Remaining budget of the loop. */
  rest(): { usd?: number; tokens?: number }
  /** True if several tasks have the check: it has to stay green, and no single task has to turn it green. */
  isShared(command: string): boolean
  /** Runs one merge at a time. */
  merging<T>(work: () => Promise<T>): Promise<T>
  /** Called when the list lacks the task, or the task is proved. */
  ticked(id: string): void
}

export type TaskOutcome = 'over' | 'stopped' | 'limit' | { rateLimit: string | undefined }

export function isUsedUp(rest: { usd?: number; tokens?: number; iterations?: number | undefined }): boolean {
  return Object.values(rest).some(amount => amount !== undefined && amount <= 0)
}

export function iterationsLeft({ iterations, settings }: LoopState): number | undefined {
  return settings.max_iterations === undefined ? undefined : settings.max_iterations - iterations
}

/** End of the loop's time, in milliseconds. */
export function deadlineOf({ settings, startedAt, until }: LoopState): number | undefined {
  const { max_minutes } = settings
  const ends = [
    ...(max_minutes === undefined ? [] : [Date.parse(startedAt) + max_minutes * 60_000]),
    ...(until === undefined ? [] : [Date.parse(until)]),
  ]
  return ends.length === 0 ? undefined : Math.min(...ends)
}

/** A turn that another machine runs. The session moves there with its files, and returns with the result. */
export interface AwayTurn {
  /** Stable id of the turn, also across processes. Starts with the group and a dash. */
  id: string
  /** Id of the loop. */
  group: string
  sessionId: string
  /** Undefined: the agent that this machine would choose. */
  agent: string | undefined
  project: string
  labels: readonly string[]
  order: {
    fromSeq: number
    message: string
    request: {
      autoApproveTools?: string[]
      unattended?: boolean
      permissionMode?: 'acceptEdits'
      maxBudgetUsd?: number
      maxBudgetTokens?: number
      timeoutMs: number
    }
    setup: string[]
    setupMs: number
  }
  signal: AbortSignal
  isLeft: () => boolean
  onPlaced: (machine: string, why: string) => void
  onWaits: (why: string) => void
  /** Returns true if the turn has to stop because of the agent's request. */
  onPending: (request: PermissionRequestEvent | undefined) => boolean
}

export type AwayEnd =
  | { kind: 'ended'; machine: string }
  | { kind: 'here'; why: string }
  | { kind: 'lost'; machine: string; why: string }
  | { kind: 'refused'; machine: string; why: string }
  | { kind: 'left' }

/** The machines of a fleet, for tasks with the key `where`. */
export interface AwayTurns {
  /** The machine that has the session, if it is another one. */
  machineOf(sessionId: string): string | undefined
  /** Last reported cost of a session on another machine. */
  spentOn(sessionId: string): Spending | undefined
  run(turn: AwayTurn): Promise<AwayEnd>
  /** Tells the machines that the turn is over and its session is here. `none`: no machine was given it. */
  close(id: string, isLeft: () => boolean): Promise<'closed' | 'none' | 'left'>
  /** Groups that the fleet remembers, with their projects if known. */
  groups(): { group: string; project: string | null }[]
  /** Lets the fleet forget a group that has no turn away. */
  end(group: string): Promise<void>
}

/** The limit of the loop that is reached, as a sentence. `rest` is the remaining budget. */
export function limitReached(state: LoopState, rest: { usd?: number; tokens?: number }): string | undefined {
  const { settings, iterations, failures } = state
  if (rest.usd !== undefined && rest.usd <= 0) return `The budget of $${settings.budget_usd} is used up.`
  if (rest.tokens !== undefined && rest.tokens <= 0)
    return `The budget of ${settings.budget_tokens} tokens is used up.`
  if (settings.max_iterations !== undefined && iterations >= settings.max_iterations && !isProving(state))
    return `${iterations} iterations are made, and no more are allowed.`
  if (failures >= settings.max_failures) return `${failures} tasks in a row could not be proved.`
  return undefined
}

/** A task after its last turn may still be proved and merged. */
function isProving({ tasks }: LoopState): boolean {
  return [...tasks.values()].some(({ status, stage }) => status === 'working' && stage.at !== 'rest')
}
