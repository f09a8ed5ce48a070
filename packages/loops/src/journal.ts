import type { CheckRecord } from './checks.ts'
import type { LoopSettings } from './loop-settings.ts'
import type { BaseResult, CheckCount, Flag, Proof } from './proof/verdict.ts'
import type { Task } from './task-list.ts'

export interface DiffStat {
  files: number
  insertions: number
  deletions: number
}

export type ParkKind =
  | 'question'
  | 'plan'
  | 'permission'
  | 'conflict'
  | 'merge-checks'
  | 'budget'
  | 'harness'
  /** The task has a command that was not allowed for this loop. */
  | 'commands'
  | 'interrupted'
  | 'error'

/** Reason for an unfinished turn. `crashes` counts how often its agent started and ended by itself. */
export interface TurnError {
  code: string
  words: string
  crashes?: number
}

export type LoopEndReason =
  /** Every task is proved. */
  | 'done'
  /** All remaining tasks are parked, have failed, or depend on such a task. */
  | 'blocked'
  | 'stopped'
  | 'limit'
  | 'rate-limit'
  | 'list-missing'
  | 'failed'

/** One fact. Entries tell what happened; work that starts is recorded before it is done. */
export type JournalEntry =
  | {
      type: 'loop:start'
      loopId: string
      /** Absolute path. */
      list: string
      projectRoot: string
      /** The commit at which the loop's branch started. */
      base: string
      baseBranch: string | null
      /** The worktree in which proved tasks are merged. */
      worktreeId: string
      settings: LoopSettings
      /** Set-up and check commands that a person allowed, for display only: `OwnLoop` decides. */
      allowed?: string[]
      /** Tasks whose boxes were ticked at the start. A later tick that the loop did not make proves nothing. */
      ticked?: string[]
      /** Hash of the list at the start, which is stored as `list.md`. */
      listHash?: string
      by?: LoopRunner
    }
  /** Files of the loop in the user's data folder were changed by somebody else, and written anew. */
  | { type: 'journal:altered'; found: string[] }
  /** These files of the copy in the project were changed by somebody else, and written anew. */
  | { type: 'copy:altered'; files: string[] }
  /** The loop's branch has lost this commit, the last one merged there. */
  | { type: 'branch:altered'; commit: string }
  /** A process took the loop over, and has to finish the open work of earlier ones. */
  | {
      type: 'run:start'
      run: string
      pid: number
      by?: LoopRunner
      settings?: LoopSettings
      /** End of this run. */
      until?: string
    }
  /** The process ended in order; the next one continues. */
  | { type: 'run:left' }
  /** A person changed the limits during the run. */
  | { type: 'loop:settings'; settings: LoopSettings; until?: string | null }
  /** A person allowed exactly these commands in addition. Tasks that waited only for them continue. */
  | { type: 'commands:allowed'; commands: string[] }
  /** Earlier entries allow these commands and the user's data folder does not, so they are not run. */
  | { type: 'commands:refused'; commands: string[] }
  | { type: 'loop:setup' }
  /** Results of checks on a commit before a task started there. `setup` is that of the worktree in which they ran. */
  | { type: 'base:checked'; commit: string; setup: string[]; results: BaseResult[] }
  /** The branch that proved tasks are merged onto. A person may have renamed it since. */
  | { type: 'loop:branch'; branch: string }
  /** `ticked`: boxes ticked by somebody else than the loop. `unticked`: the loop's own ticks that were removed. */
  | {
      type: 'list:changed'
      added: string[]
      changed: string[]
      removed: string[]
      ticked?: string[]
      unticked?: string[]
    }
  | ({ type: 'task:start' } & TaskStart)
  | { type: 'task:setup'; task: string }
  /** `prompt` is the hash of the agent's prompt. */
  | { type: 'iteration:start'; task: string; n: number; fromSeq: number; prompt?: string }
  | {
      type: 'iteration:end'
      task: string
      n: number
      reason: string
      spent: Spending
      pattern?: string[]
      /** The limit of the plan that ended the turn, which does not count as an attempt. */
      limit?: PlanLimit
      /** Why the turn did not finish, in the words of the agent or its API. */
      error?: TurnError
      /** Actions that the agent wanted and was denied. */
      denied?: string[]
    }
  /** The next attempt uses a new session and the same worktree. */
  | { type: 'task:session'; task: string; sessionId: string; why: string }
  /** Another agent continues, in a new session and the same worktree. */
  | { type: 'task:handed'; task: string; from: string; to: string; sessionId: string; why: string }
  /** A machine of the fleet runs the turn. */
  | { type: 'task:placed'; task: string; n: number; machine: string; why: string }
  /** No machine of the fleet fits now. */
  | { type: 'task:waits'; task: string; n: number; why: string }
  /** The session returned with its files in another worktree. */
  | { type: 'task:returned'; task: string; worktreeId: string }
  /**
   * The task's machine is gone: it starts again, and the turn counts as an attempt. `spent` is its last reported cost.
   */
  | { type: 'task:lost'; task: string; n: number; why: string; fresh: FreshStart; spent?: Spending }
  | { type: 'checks:start'; task: string; n: number; marker: string }
  | {
      type: 'checks:end'
      task: string
      n: number
      tree: string
      diff: DiffStat
      results: CheckRecord[]
      failure?: string
      /** Tests counted in each of the results. */
      counted?: CheckCount[]
      /** Changed files that the checks read. Null if that could not be observed. */
      read?: string[] | null
      /** Changed files that git was told to ignore. */
      hidden?: string[]
    }
  /** `flags` comes from versions that wrote no proof. */
  | { type: 'task:proved'; task: string; commit: string; flags?: Flag[]; proof?: Proof }
  | { type: 'merge:start'; task: string; onto: string }
  /** `receipt` is the hash of the task's receipt. */
  | { type: 'task:merged'; task: string; commit: string; receipt?: string }
  /** Tasks of the list with commands that were not allowed, found in one look. None of their commands was run. */
  | { type: 'tasks:parked'; tasks: ParkedStart[] }
  /** `commands`: not allowed and not run. `options`: answers that the agent offered. */
  | {
      type: 'task:parked'
      task: string
      kind: ParkKind
      why: string
      commands?: string[]
      options?: string[]
    }
  | { type: 'task:failed'; task: string; why: string }
  /**
   * A person resumes the task, with a note for the agent. `fresh`: in a new session and worktree. `now`: the task as
   * the list has it now, if nothing of it was run.
   */
  | { type: 'task:again'; task: string; note: string; fresh?: FreshStart; now?: Task }
  /** A person asked to revert the task's change on the loop's branch, which is at `onto`. */
  | { type: 'revert:start'; task: string; onto: string }
  /** The task's change was reverted on the loop's branch. */
  | { type: 'task:reverted'; task: string; commit: string }
  /** A person merged the loop's branch, up to these tasks, into another one. */
  | { type: 'loop:accepted'; tasks: string[]; into: string; commit: string }
  /** Uncommitted changes in the worktree of the loop's branch, kept before a merge was undone. */
  | { type: 'branch:kept'; ref: string }
  | { type: 'loop:wait'; until: string; why: string }
  | { type: 'loop:end'; reason: LoopEndReason; why: string }

/** The kind of process that runs the loop. A restarted server resumes its loops by itself. */
export type LoopRunner = 'server' | 'command'

export interface PlanLimit {
  harness: string
  /** Time of the reset, if the agent stated it. */
  until?: string
}

export interface FreshStart {
  sessionId: string
  worktreeId: string
  base: string
}

export interface TaskStart extends FreshStart {
  task: Task
}

export interface ParkedStart extends TaskStart {
  /** Commands that were not allowed. */
  commands: string[]
  /** Checks that were removed from the task since the loop was started. */
  missing?: string[]
}

export interface Spending {
  usd: number | null
  isEstimate: boolean
  tokens: number
}

export type Stamped<E = JournalEntry> = E & { at: string }
