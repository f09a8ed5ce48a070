import { visibleLine } from '@chirality/core'
import type { FreshStart, LoopEndReason, LoopRunner, Stamped } from './journal.ts'
import type { LoopSettings } from './loop-settings.ts'
import type { BaseResult, Proof } from './proof/verdict.ts'
import {
  applyFault,
  applyLimit,
  beginTask,
  inNewSession,
  putBack,
  type TaskState,
  type TaskStatus,
} from './task-state.ts'

export type { HandOver, TaskStage, TaskState, TaskStatus } from './task-state.ts'

/** A loop, folded from its journal. */
export interface LoopState {
  loopId: string
  list: string
  projectRoot: string
  base: string
  /** Tip of the loop's branch: first the base, then the last merge. */
  head: string
  baseBranch: string | null
  /** The branch for merged tasks. Undefined before the first run. */
  branch?: string
  worktreeId: string
  isSetUp: boolean
  /** Results of checks before a task started, by `baseKey`. */
  baseResults: Map<string, BaseResult>
  settings: LoopSettings
  /** Commands that the loop may run. In a running loop they equal those of `OwnLoop`. */
  allowed: Set<string>
  /** Commands that only the journal allowed. */
  refused: Set<string>
  startedAt: string
  runs: number
  pid: number
  by: LoopRunner
  /** Number of entries in the journal. */
  entries: number
  /** Consecutive runs that ended at once without progress. */
  idleRuns: number
  /** Start of the last of them. */
  lastRunAt?: string
  tasks: Map<string, TaskState>
  iterations: number
  /** Consecutive tasks that were not proved. */
  failures: number
  waits: number
  waitUntil?: string
  /** Agents whose plan reached a limit in this run, with its end. */
  limited: Map<string, string>
  /** Deadline of the last run. Each run has its own, or none. */
  until?: string
  patterns: string[]
  changes: Record<ListChangeKind, string[]>
  /** Tasks that were ticked in the list at the start. */
  tickedBefore: Set<string>
  /** Hash of the list at the start. */
  listHash?: string
  /** Changes by somebody else in the user's data folder, as the running loop found them. */
  altered: string[]
  /** Files of the copy in the project that somebody changed. */
  copyAltered: string[]
  /** The last commit merged on its branch, if the branch has lost it. */
  branchLost?: string
  /** Files that differ from what this machine wrote. The loop continues only if a person says so. */
  broken: string[]
  /** The files came with the project, or from an earlier version: nothing in them counts. */
  isForeign?: true
  end?: { reason: LoopEndReason; why: string; at: string }
  /** Reason why the journal is unreadable. Such a loop is shown and cannot be resumed. */
  unreadable?: string
}

export type ListChangeKind = 'added' | 'changed' | 'removed' | 'ticked' | 'unticked'

/** The state after all entries. Undefined for a journal without its first entry. */
export function foldJournal(entries: readonly Stamped[]): LoopState | undefined {
  let state: LoopState | undefined
  for (const entry of entries) {
    if (entry.type === 'loop:start') state ??= initial(entry)
    else if (state !== undefined) applyEntry(state, entry)
  }
  return state
}

function initial(entry: Extract<Stamped, { type: 'loop:start' }>): LoopState {
  const { loopId, list, projectRoot, base, baseBranch, worktreeId, settings, by = 'command', at } = entry
  return {
    loopId,
    list,
    projectRoot,
    base,
    head: base,
    baseBranch,
    worktreeId,
    settings,
    startedAt: at,
    isSetUp: false,
    runs: 0,
    pid: 0,
    by,
    entries: 1,
    idleRuns: 0,
    tasks: new Map(),
    baseResults: new Map(),
    iterations: 0,
    failures: 0,
    waits: 0,
    limited: new Map(),
    allowed: new Set(entry.allowed),
    refused: new Set(),
    patterns: [],
    altered: [],
    copyAltered: [],
    broken: [],
    tickedBefore: new Set(entry.ticked),
    changes: { added: [], changed: [], removed: [], ticked: [], unticked: [] },
    listHash: entry.listHash,
  }
}

/** Applies an entry in place, because a loop has thousands of entries. */
export function applyEntry(state: LoopState, entry: Stamped): void {
  state.entries += 1
  if (entry.type !== 'run:start') state.idleRuns = 0
  if (isOfTask(entry)) {
    const task = state.tasks.get(entry.task)
    const apply: (task: TaskState, entry: never, state: LoopState) => void = TASK_ENTRIES[entry.type]
    if (task !== undefined) apply(task, entry as never, state)
  } else {
    const apply: (state: LoopState, entry: never) => void = LOOP_ENTRIES[entry.type]
    apply(state, entry as never)
  }
}

type EntryOf<T> = Extract<Stamped, { type: T }>
type TaskEntry = Extract<Stamped, { task: string }>
type LoopEntry = Exclude<Stamped, TaskEntry>

function isOfTask(entry: Stamped): entry is TaskEntry {
  return Object.hasOwn(TASK_ENTRIES, entry.type)
}

/** Effects of the entries about a loop. */
const LOOP_ENTRIES: { [T in LoopEntry['type']]: (state: LoopState, entry: EntryOf<T>) => void } = {
  'run:start': (state, entry) => {
    state.runs += 1
    // A long turn writes no entry for an hour, so a run that lasted counts as progress.
    state.idleRuns = hasLasted(state, entry.at) ? 1 : state.idleRuns + 1
    state.lastRunAt = entry.at
    state.pid = entry.pid
    state.by = entry.by ?? 'command'
    if (entry.settings !== undefined) state.settings = entry.settings
    state.failures = 0
    // A person who resumes may know more about their plan; a process that only takes over does not.
    if (state.end !== undefined) state.limited.clear()
    delete state.end
    setUntil(state, entry.until ?? null)
  },
  'loop:settings': (state, entry) => {
    state.settings = entry.settings
    setUntil(state, entry.until)
  },
  'commands:allowed': (state, entry) => {
    for (const command of entry.commands) state.allowed.add(command)
    for (const command of entry.commands) state.refused.delete(command)
    for (const task of state.tasks.values()) if (mayGoOn(state, task)) putBack(task)
  },
  'commands:refused': (state, entry) => {
    for (const command of entry.commands) state.allowed.delete(command)
    for (const command of entry.commands) state.refused.add(command)
  },
  'loop:setup': state => {
    state.isSetUp = true
  },
  'base:checked': (state, entry) => {
    for (const result of entry.results) state.baseResults.set(baseKey({ ...entry, ...result }), result)
  },
  'loop:branch': (state, entry) => {
    state.branch = entry.branch
  },
  'list:changed': (state, entry) => {
    for (const key of ['added', 'changed', 'removed', 'ticked', 'unticked'] as const)
      state.changes[key] = [...new Set([...state.changes[key], ...(entry[key] ?? [])])]
  },
  'journal:altered': (state, entry) => {
    state.altered = [...new Set([...state.altered, ...entry.found])]
  },
  'branch:altered': (state, entry) => {
    state.branchLost = entry.commit
  },
  'copy:altered': (state, entry) => {
    state.copyAltered = [...new Set([...state.copyAltered, ...entry.files])]
  },
  'task:start': (state, entry) => {
    beginTask(state.tasks, entry, entry.at)
  },
  'tasks:parked': (state, entry) => {
    for (const start of entry.tasks)
      park(state, beginTask(state.tasks, start, entry.at), {
        kind: 'commands',
        why: parkedWords(start, state.refused),
        at: entry.at,
        commands: start.commands,
        ...(start.missing && { missing: start.missing }),
      })
  },
  'loop:wait': (state, entry) => {
    state.waits += 1
    state.waitUntil = entry.until
  },
  'loop:accepted': (state, entry) => {
    for (const id of entry.tasks) {
      const task = state.tasks.get(id)
      if (task !== undefined) task.accepted = { into: entry.into, commit: entry.commit }
    }
  },
  'loop:end': (state, entry) => {
    state.end = { reason: entry.reason, why: entry.why, at: entry.at }
  },
  'loop:start': () => {},
  'run:left': () => {},
  'branch:kept': () => {},
}

/** Effects of the entries about one of its tasks. */
const TASK_ENTRIES: {
  [T in TaskEntry['type']]: (task: TaskState, entry: EntryOf<T>, state: LoopState) => void
} = {
  'task:setup': task => {
    task.isSetUp = true
  },
  'iteration:start': (task, entry, state) => {
    state.iterations += 1
    task.iterations = entry.n
    task.attempts += 1
    if (entry.prompt !== undefined) task.prompt = entry.prompt
    task.stage = { at: 'turn', fromSeq: entry.fromSeq, since: entry.at }
  },
  'task:placed': (task, entry) => {
    task.machine = entry.machine
    delete task.waits
  },
  'task:waits': (task, entry) => {
    task.waits = entry.why
  },
  'task:returned': (task, entry) => {
    task.worktreeId = entry.worktreeId
    // Ignored files stayed on the other machine.
    task.isSetUp = false
  },
  'task:lost': (task, entry) => {
    task.stage = { at: 'rest' }
    delete task.machine
    task.spent = entry.spent ?? task.spent
    startFresh(task, entry.fresh)
  },
  'iteration:end': (task, entry, state) => {
    delete task.waits
    task.spent = entry.spent
    task.stage = { at: 'ended', reason: entry.reason }
    delete task.denied
    if (entry.denied !== undefined) task.denied = entry.denied
    if (entry.limit !== undefined) applyLimit(state.limited, task, entry.limit)
    else applyFault(task, entry.error)
    state.patterns = [...new Set([...state.patterns, ...(entry.pattern ?? [])])].slice(-MAX_PATTERNS)
  },
  'task:handed': (task, entry) => {
    const { from, to, sessionId, at, why } = entry
    const { sessionId: before, spent } = task
    task.handed = [...(task.handed ?? []), { from, to, sessionId: before, spent, at, why }]
    // The turn ended without a limit: the agent could not work at all, which is no attempt either.
    if (task.stage.at === 'ended') task.attempts -= 1
    task.harness = to
    delete task.fault
    delete task.denied
    inNewSession(task, sessionId)
    task.stage = { at: 'rest' }
  },
  'task:session': (task, entry) => {
    task.earlier = [...(task.earlier ?? []), { sessionId: task.sessionId, spent: task.spent }]
    inNewSession(task, entry.sessionId)
  },
  'checks:start': (task, entry) => {
    task.stage = {
      at: 'checks',
      marker: entry.marker,
      reason: task.stage.at === 'ended' || task.stage.at === 'checks' ? task.stage.reason : 'completed',
    }
  },
  'checks:end': (task, entry) => {
    if (task.fault !== undefined && task.tree !== entry.tree) task.fault.same = 1
    task.tree = entry.tree
    task.diff = entry.diff
    task.results = entry.results
    task.counted = entry.counted ?? []
    task.read = entry.read ?? null
    task.hidden = [...new Set([...(task.hidden ?? []), ...(entry.hidden ?? [])])]
    delete task.failure
    if (entry.failure !== undefined) task.failure = entry.failure
    task.stage = entry.failure === undefined ? { at: 'passed', tree: entry.tree } : { at: 'rest' }
  },
  'task:proved': (task, entry) => {
    task.commit = entry.commit
    if (entry.flags !== undefined) task.flags = entry.flags
    if (entry.proof !== undefined) task.proof = entry.proof
    task.stage = { at: 'proved', commit: entry.commit }
  },
  'merge:start': (task, entry) => {
    task.stage = { at: 'merging', commit: task.commit ?? '', onto: entry.onto }
  },
  'task:merged': (task, entry, state) => {
    close(task, 'merged', entry.at)
    task.merged = entry.commit
    if (entry.receipt !== undefined) task.receipt = entry.receipt
    // The receipt has the output.
    task.results = task.results.map(result => ({ ...result, tail: '' }))
    if (task.proof !== undefined) task.proof = shortProof(task.proof)
    for (const key of ['counted', 'read'] as const) delete task[key]
    state.head = entry.commit
    delete state.branchLost
    state.failures = 0
  },
  'task:parked': (task, entry, state) => {
    park(state, task, entry)
  },
  'task:failed': (task, entry, state) => {
    close(task, 'failed', entry.at)
    task.why = entry.why
    state.failures += 1
  },
  'revert:start': (task, entry) => {
    task.reverting = entry.onto
  },
  'task:reverted': (task, entry, state) => {
    close(task, 'reverted', entry.at)
    task.why = 'Its change was taken back.'
    delete task.reverting
    state.head = entry.commit
  },
  'task:again': (task, entry) => {
    putBack(task)
    if (entry.note !== '') task.notes.push(entry.note)
    if (entry.now !== undefined) task.task = entry.now
    if (entry.fresh !== undefined) startFresh(task, entry.fresh)
  },
}

/** Key of `baseResults`. It includes the set-up, with which the same check may behave differently. */
export function baseKey(of: { commit: string; setup: readonly string[]; command: string }): string {
  return JSON.stringify([of.commit, of.setup, of.command])
}

function hasLasted({ lastRunAt }: LoopState, until: string): boolean {
  return lastRunAt !== undefined && Date.parse(until) - Date.parse(lastRunAt) > IDLE_MS
}

function setUntil(state: LoopState, until: string | null | undefined): void {
  if (until === null) delete state.until
  else if (until !== undefined) state.until = until
}

type Park = Omit<Extract<Stamped, { type: 'task:parked' }>, 'type' | 'task'> & { missing?: string[] }

function park(state: LoopState, task: TaskState, { kind, why, commands, options, missing, at }: Park): void {
  close(task, 'parked', at)
  task.parked = kind
  task.why = why
  Object.assign(task, commands && { commands }, options && { options }, missing && { missing })
  // Overrides earlier permissions: a person is asked for these commands.
  for (const command of commands ?? []) state.allowed.delete(command)
}

/** True if the task was parked only for commands, and all of them are allowed now. */
function mayGoOn({ allowed }: LoopState, { status, commands, missing }: TaskState): boolean {
  if (status !== 'parked' || commands === undefined) return false
  // A task that lost its checks waits for a person, unless other commands were allowed instead.
  if (missing !== undefined && commands.length === 0) return false
  return commands.every(command => allowed.has(command))
}

/** The proof without output and test counts, because a loop holds thousands of tasks in memory. */
function shortProof({ base, own, judged, ...proof }: Proof): Proof {
  const short = <T extends { tail: string }>(results: T[]) => results.map(result => ({ ...result, tail: '' }))
  return {
    ...proof,
    base: short(base).map(result => ({ ...result, counted: null })),
    own: short(own),
    judged: judged.kind === 'ran' ? { ...judged, results: short(judged.results) } : judged,
  }
}

/** Resets the task for a new session and worktree. Only its costs remain. */
function startFresh(task: TaskState, { sessionId, worktreeId, base }: FreshStart): void {
  Object.assign(task, { worktreeId, base, isSetUp: false, results: [] })
  inNewSession(task, sessionId)
  const gone = [
    'tree',
    'diff',
    'failure',
    'commit',
    'merged',
    'flags',
    'proof',
    'harness',
    'handed',
    'earlier',
  ] as const
  for (const key of [...gone, 'fault', 'denied'] as const) delete task[key]
}

function close(task: TaskState, status: TaskStatus, at: string): void {
  task.stage = { at: 'rest' }
  Object.assign(task, { status, endedAt: at })
}

/**
 * Why a task with commands that were not allowed waits for a person. `refused`: commands that only the loop's journal
 * allows.
 */
export function notAllowedWords(commands: readonly string[], refused?: ReadonlySet<string>): string {
  const which = commands.length === 1 ? 'a command' : `${commands.length} commands`
  const all = commands.map(one => `\`${visibleLine(one)}\``).join(', ')
  const isRefused = commands.some(command => refused?.has(command))
  const words = `It runs ${which} that nobody allowed for this loop${isRefused ? ONLY_JOURNAL : ''}: ${all}`
  return words.slice(0, MAX_WORDS)
}

/** Why a task of the list did not start. `missing`: its checks that were removed from the list. */
function parkedWords(
  { commands, missing = [] }: { commands: readonly string[]; missing?: readonly string[] },
  refused?: ReadonlySet<string>,
): string {
  if (missing.length === 0) return notAllowedWords(commands, refused)
  const gone = missing.map(one => `\`${visibleLine(one)}\``).join(', ')
  const words = `Since the loop began, somebody took ${missing.length === 1 ? 'a check' : `${missing.length} checks`} out of it: ${gone}. Put it back in the list, or run the task again as the list has it now.`
  return `${words}${commands.length === 0 ? '' : ` ${notAllowedWords(commands, refused)}`}`.slice(
    0,
    MAX_WORDS,
  )
}

const ONLY_JOURNAL = ', as far as own.json in your data folder knows: only the journal says so'
const MAX_WORDS = 2_000

const MAX_PATTERNS = 20
const IDLE_MS = 60_000
