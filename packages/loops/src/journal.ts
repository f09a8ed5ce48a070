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
  /** It runs a command that nobody allowed for this loop. */
  | 'commands'
  | 'interrupted'
  | 'error'

/** `crashes`: how often its agent was started and ended by itself. */
export interface TurnError {
  code: string
  words: string
  crashes?: number
}

export type LoopEndReason =
  /** Every task is proved. */
  | 'done'
  /** What is left is parked, has failed, or depends on such a task. */
  | 'blocked'
  | 'stopped'
  | 'limit'
  | 'rate-limit'
  | 'list-missing'
  | 'failed'

/** One fact. What is in the journal has happened; what is only begun is in it before it is done. */
export type JournalEntry =
  | {
      type: 'loop:start'
      loopId: string
      /** Absolute. */
      list: string
      projectRoot: string
      /** The commit that the loop's branch began at. */
      base: string
      baseBranch: string | null
      /** The worktree in which proved tasks are merged. */
      worktreeId: string
      settings: LoopSettings
      /** The set-up and check commands that a person allowed, to be shown: `OwnLoop` decides. */
      allowed?: string[]
      /** The tasks whose boxes were ticked then. A tick that is there later and that the loop did not make proves nothing. */
      ticked?: string[]
      /** The hash of the list as it was then, which is kept as `list.md`. */
      listHash?: string
      by?: LoopRunner
    }
  /** Somebody changed the loop's own files in the user's data folder behind its back. They were written anew. */
  | { type: 'journal:altered'; found: string[] }
  /** Somebody changed these files of the copy in the project. They were written anew. */
  | { type: 'copy:altered'; files: string[] }
  /** The loop's branch does not have this commit any more, the last that was merged there. */
  | { type: 'branch:altered'; commit: string }
  /** A process took the loop over. What an earlier one left open is its to finish. */
  | {
      type: 'run:start'
      run: string
      pid: number
      by?: LoopRunner
      settings?: LoopSettings
      /** This run ends by then. */
      until?: string
    }
  /** The process ended in order, and the next one goes on. */
  | { type: 'run:left' }
  /** A person changed its limits while it ran. */
  | { type: 'loop:settings'; settings: LoopSettings; until?: string | null }
  /** A person allowed more commands, exactly these. Tasks that waited only for them go on. */
  | { type: 'commands:allowed'; commands: string[] }
  /** The lines before say that these are allowed, and the user's data folder does not: they are not run. */
  | { type: 'commands:refused'; commands: string[] }
  | { type: 'loop:setup' }
  /** What checks did on a commit before a task began there. `setup`: that of the worktree in which they ran. */
  | { type: 'base:checked'; commit: string; setup: string[]; results: BaseResult[] }
  /** The branch that proved tasks are merged onto. A person may have renamed it since. */
  | { type: 'loop:branch'; branch: string }
  /** `ticked`, `unticked`: boxes that somebody else than the loop ticked, and ticks of the loop that somebody took away. */
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
  /** `prompt`: the hash of what the agent is told. */
  | { type: 'iteration:start'; task: string; n: number; fromSeq: number; prompt?: string }
  | {
      type: 'iteration:end'
      task: string
      n: number
      reason: string
      spent: Spent
      pattern?: string[]
      /** The limit of the plan that ended it. It does not count as an attempt. */
      limit?: PlanLimit
      /** Why it was not finished, in the words of the agent or its API. */
      error?: TurnError
      /** What its agent wanted and was not allowed. */
      denied?: string[]
    }
  /** The next attempt is made in a new session and the same worktree. */
  | { type: 'task:session'; task: string; sessionId: string; why: string }
  /** Another agent goes on with it, in a new session and the same worktree. */
  | { type: 'task:handed'; task: string; from: string; to: string; sessionId: string; why: string }
  /** The turn is made by a machine of the fleet. */
  | { type: 'task:placed'; task: string; n: number; machine: string; why: string }
  /** No machine of the fleet fits now. */
  | { type: 'task:waits'; task: string; n: number; why: string }
  /** Its session came back, with its files in another worktree. */
  | { type: 'task:returned'; task: string; worktreeId: string }
  /** Its machine is gone: it begins anew, and that turn counts as an attempt. `spent` is what was heard of its cost. */
  | { type: 'task:lost'; task: string; n: number; why: string; fresh: FreshStart; spent?: Spent }
  | { type: 'checks:start'; task: string; n: number; marker: string }
  | {
      type: 'checks:end'
      task: string
      n: number
      tree: string
      diff: DiffStat
      results: CheckRecord[]
      failure?: string
      /** For each of the results: what it tested. */
      counted?: CheckCount[]
      /** The changed files that the checks read. Null if that could not be seen. */
      read?: string[] | null
      /** Changed files that git was told not to look at. */
      hidden?: string[]
    }
  /** `flags`: of versions that wrote no proof. */
  | { type: 'task:proved'; task: string; commit: string; flags?: Flag[]; proof?: Proof }
  | { type: 'merge:start'; task: string; onto: string }
  /** `receipt`: the hash of its receipt. */
  | { type: 'task:merged'; task: string; commit: string; receipt?: string }
  /** Tasks of the list that name commands which nobody allowed, all that one look at it found. Nothing of them was run. */
  | { type: 'tasks:parked'; tasks: ParkedStart[] }
  /** `commands`: those that nobody allowed. They were not run. `options`: the answers that the agent offered. */
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
   * A person puts it back, with words for the agent. `fresh`: in a new session and worktree. `now`: as the list has it
   * now, for one of which nothing has run.
   */
  | { type: 'task:again'; task: string; note: string; fresh?: FreshStart; now?: Task }
  /** A person asked to take its change back from the loop's branch, which is at `onto`. */
  | { type: 'revert:start'; task: string; onto: string }
  /** A person took its change back from the loop's branch. */
  | { type: 'task:reverted'; task: string; commit: string }
  /** A person merged the loop's branch, up to these tasks, into another one. */
  | { type: 'loop:accepted'; tasks: string[]; into: string; commit: string }
  /** Changes in the worktree of the loop's branch that nobody committed, before a merge was taken back. */
  | { type: 'branch:kept'; ref: string }
  | { type: 'loop:wait'; until: string; why: string }
  | { type: 'loop:end'; reason: LoopEndReason; why: string }

/** Who runs it. A server goes on with its loops by itself when it is started again. */
export type LoopRunner = 'server' | 'command'

export interface PlanLimit {
  harness: string
  /** When it is reset, if the agent said so. */
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
  /** Those that nobody allowed. */
  commands: string[]
  /** Checks that the list had when the loop was started, and that were taken from the task since. */
  missing?: string[]
}

export interface Spent {
  usd: number | null
  isEstimate: boolean
  tokens: number
}

export type Stamped<E = JournalEntry> = E & { at: string }
