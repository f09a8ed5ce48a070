import type { PermissionRequestEvent } from '@chirality/core'
import type { SessionHost } from '@chirality/sessions'
import type { RunningCommand } from './checks.ts'
import type { JournalEntry, Spent } from './journal.ts'
import type { LoopState } from './loop-state.ts'
import type { Seal } from './machine-key.ts'

/** Why a loop is given up without its agents: another process goes on with them. */
export const LEAVE = 'leave'

/** What a task needs of its loop. */
export interface LoopContext {
  readonly host: SessionHost
  readonly state: LoopState
  /** In the user's data folder. */
  readonly folder: string
  readonly seal: Seal
  readonly signal: AbortSignal
  /** By task: the command that runs now. */
  readonly running: Map<string, RunningCommand>
  /** Undefined if this is no hub of a fleet. */
  readonly away: AwayTurns | undefined
  /** Names for a new session and worktree of a task. */
  names(task: string): { sessionId: string; worktreeId: string }
  /** All of them, or nothing if the process is killed. */
  record(...entries: JournalEntry[]): void
  /** Keeps a file of the loop, and its copy in the project. */
  put(text: string, ...parts: string[]): void
  /** Somebody changed files of the loop in the user's data folder: said with the next entry. */
  noteAltered(found: string): void
  /** What the loop may still spend. */
  rest(): { usd?: number; tokens?: number }
  /** Whether it is a check of more than one task: it has to stay true, and is not what one of them has to make so. */
  isShared(command: string): boolean
  /** One merge at a time. */
  merging<T>(work: () => Promise<T>): Promise<T>
  /** The list has no such task any more, or it is proved. */
  ticked(id: string): void
}

export type TaskOutcome = 'over' | 'stopped' | 'limit' | { rateLimit: string | undefined }

export function isUsedUp(rest: { usd?: number; tokens?: number; iterations?: number | undefined }): boolean {
  return Object.values(rest).some(amount => amount !== undefined && amount <= 0)
}

export function iterationsLeft({ iterations, settings }: LoopState): number | undefined {
  return settings.max_iterations === undefined ? undefined : settings.max_iterations - iterations
}

/** When its time is over, in milliseconds. */
export function deadlineOf({ settings, startedAt, until }: LoopState): number | undefined {
  const { max_minutes } = settings
  const ends = [
    ...(max_minutes === undefined ? [] : [Date.parse(startedAt) + max_minutes * 60_000]),
    ...(until === undefined ? [] : [Date.parse(until)]),
  ]
  return ends.length === 0 ? undefined : Math.min(...ends)
}

/** A turn that another machine makes. The session goes there with its files, and comes back with what became of them. */
export interface AwayTurn {
  /** The same for the same turn, also in the next process. Begins with the group and a dash. */
  id: string
  /** The loop. */
  group: string
  sessionId: string
  /** Undefined: the one that this machine would take. */
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
  /** Whether the turn is to be stopped because of what its agent asks. */
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
  /** The machine that has the session, if it is not this one. */
  machineOf(sessionId: string): string | undefined
  /** What a session of another machine cost, as far as that was heard. */
  spentOn(sessionId: string): Spent | undefined
  run(turn: AwayTurn): Promise<AwayEnd>
  /** Tells the machines that the turn is over and its session here. `none`: no machine was given it. */
  close(id: string, isLeft: () => boolean): Promise<'closed' | 'none' | 'left'>
  /** The groups whose turns the fleet remembers, with their projects where they are known. */
  groups(): { group: string; project: string | null }[]
  /** No turn of the group is away: the fleet forgets what it knows of them. */
  end(group: string): Promise<void>
}

/** Which limit of the loop is reached, in words. `rest` is what is left of its money. */
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

/** A task that is past its last turn may still be proved and merged. */
function isProving({ tasks }: LoopState): boolean {
  return [...tasks.values()].some(({ status, stage }) => status === 'working' && stage.at !== 'rest')
}
