import { closeSync, constants, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import path from 'node:path'
import type { CheckRecord } from './checks.ts'
import { isNodeError } from './files.ts'
import type { LoopSettings } from './loop-settings.ts'
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
      by?: LoopRunner
    }
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
  | { type: 'list:changed'; added: string[]; changed: string[]; removed: string[] }
  | ({ type: 'task:start' } & TaskStart)
  | { type: 'task:setup'; task: string }
  | { type: 'iteration:start'; task: string; n: number; fromSeq: number }
  | {
      type: 'iteration:end'
      task: string
      n: number
      reason: string
      spent: Spent
      pattern?: string[]
      /** The limit of the plan that ended it. It does not count as an attempt. */
      limit?: PlanLimit
    }
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
    }
  | { type: 'task:proved'; task: string; commit: string; flags?: Flag[] }
  | { type: 'merge:start'; task: string; onto: string }
  | { type: 'task:merged'; task: string; commit: string }
  /** Tasks of the list that name commands which nobody allowed, all that one look at it found. Nothing of them was run. */
  | { type: 'tasks:parked'; tasks: ParkedStart[] }
  /** `commands`: those that nobody allowed. They were not run. */
  | { type: 'task:parked'; task: string; kind: ParkKind; why: string; commands?: string[] }
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

export type FlagKind =
  | 'tests-deleted'
  | 'tests-skipped'
  | 'tests-weakened'
  | 'checks-changed'
  | 'ci-changed'
  | 'lock-changed'
  | 'secret-path'
  | 'large-deletion'

/** What a person should look at, found without a model. */
export interface Flag {
  kind: FlagKind
  words: string
  files: string[]
}

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
}

export interface Spent {
  usd: number | null
  isEstimate: boolean
  tokens: number
}

export type Stamped<E = JournalEntry> = E & { at: string }

/** `journal.ndjson`: one fact a line, only ever appended, and on the disk before the next thing is done. */
export class Journal {
  readonly file: string
  readonly #fd: number

  constructor(folder: string) {
    this.file = path.join(folder, 'journal.ndjson')
    cutTornLine(this.file)
    const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW } = constants
    this.#fd = openSync(this.file, O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW, 0o600)
  }

  /** What must not be without the other is added at once: a kill leaves all of it or nothing. */
  add(...entries: JournalEntry[]): Stamped[] {
    const at = new Date().toISOString()
    const stamped = entries.map(entry => ({ at, ...entry }))
    writeSync(this.#fd, stamped.map(entry => `${JSON.stringify(entry)}\n`).join(''))
    fsyncSync(this.#fd)
    return stamped
  }

  close(): void {
    closeSync(this.#fd)
  }
}

/** Reads a journal, also one that another process is writing. A damaged line is left out, and counted. */
export function readJournal(folder: string): { entries: Stamped[]; damaged: number } {
  let text: string
  try {
    text = readFileSync(path.join(folder, 'journal.ndjson'), 'utf8')
  } catch (error) {
    if (isNodeError(error, 'ENOENT')) return { entries: [], damaged: 0 }
    throw error
  }
  const entries: Stamped[] = []
  let damaged = 0
  // What follows the last line break was not finished.
  for (const line of text.split('\n').slice(0, -1)) {
    try {
      const entry: unknown = JSON.parse(line)
      if (typeof entry === 'object' && entry !== null && 'type' in entry) entries.push(entry as Stamped)
      else damaged += 1
    } catch {
      damaged += 1
    }
  }
  return { entries, damaged }
}

/** A line that a killed process did not finish says nothing, and must not be joined with the next one. */
function cutTornLine(file: string): void {
  let fd: number
  try {
    fd = openSync(file, constants.O_RDWR | constants.O_NOFOLLOW)
  } catch (error) {
    if (isNodeError(error, 'ENOENT')) return
    throw error
  }
  try {
    const bytes = readFileSync(fd)
    const end = bytes.lastIndexOf(0x0a) + 1
    if (end < bytes.length) ftruncateSync(fd, end)
  } finally {
    closeSync(fd)
  }
}
