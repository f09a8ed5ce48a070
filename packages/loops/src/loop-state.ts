import type { CheckRecord } from './checks.ts'
import type {
  DiffStat,
  Flag,
  FreshStart,
  LoopEndReason,
  LoopRunner,
  ParkKind,
  PlanLimit,
  Spent,
  Stamped,
  TaskStart,
} from './journal.ts'
import type { LoopSettings } from './loop-settings.ts'
import { notAllowedWords } from './not-allowed-words.ts'
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
  parked?: ParkKind
  why?: string
  /** It is parked because nobody allowed these. */
  commands?: string[]
  notes: string[]
  commit?: string
  merged?: string
  /** The commit of the loop's branch at which a revert of it was begun. */
  reverting?: string
  flags?: Flag[]
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

/** A loop as its journal tells it. */
export interface LoopState {
  loopId: string
  list: string
  projectRoot: string
  base: string
  /** Of its branch: the base, and then the last merge. */
  head: string
  baseBranch: string | null
  worktreeId: string
  isSetUp: boolean
  settings: LoopSettings
  /** The commands that it may run. For a loop that runs they are those of `OwnLoop`. */
  allowed: Set<string>
  /** Those that only its journal allowed. */
  refused: Set<string>
  startedAt: string
  runs: number
  pid: number
  by: LoopRunner
  /** How many facts its journal has. */
  entries: number
  /** Runs in a row that were over at once and got to nothing. */
  idleRuns: number
  /** When the last of them began. */
  lastRunAt?: string
  tasks: Map<string, TaskState>
  iterations: number
  /** Tasks in a row that were not proved. */
  failures: number
  waits: number
  waitUntil?: string
  /** Agents whose plan was at a limit in this run, and until when. */
  limited: Map<string, string>
  /** When its last run had to end. The next run has a time of its own, or none. */
  until?: string
  patterns: string[]
  changes: { added: string[]; changed: string[]; removed: string[] }
  end?: { reason: LoopEndReason; why: string; at: string }
}

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
    ...{ loopId, list, projectRoot, base, head: base, baseBranch, worktreeId, settings, startedAt: at },
    ...{ isSetUp: false, runs: 0, pid: 0, by, entries: 1, idleRuns: 0, tasks: new Map() },
    ...{ iterations: 0, failures: 0, waits: 0, limited: new Map() },
    ...{ allowed: new Set(entry.allowed), refused: new Set() },
    ...{ patterns: [], changes: { added: [], changed: [], removed: [] } },
  }
}

/** Changes the state in place: a loop has thousands of entries. */
export function applyEntry(state: LoopState, entry: Stamped): void {
  state.entries += 1
  if (entry.type !== 'run:start') state.idleRuns = 0
  switch (entry.type) {
    case 'run:start':
      state.runs += 1
      // A long turn writes nothing for an hour: a run that lasted is not one that got to nothing.
      state.idleRuns = hasLasted(state, entry.at) ? 1 : state.idleRuns + 1
      state.lastRunAt = entry.at
      state.pid = entry.pid
      state.by = entry.by ?? 'command'
      if (entry.settings !== undefined) state.settings = entry.settings
      state.failures = 0
      // A person who goes on with it may know more of their plan; a process that only takes over does not.
      if (state.end !== undefined) state.limited.clear()
      delete state.end
      setUntil(state, entry.until ?? null)
      return
    case 'loop:settings':
      state.settings = entry.settings
      setUntil(state, entry.until)
      return
    case 'commands:allowed':
      for (const command of entry.commands) state.allowed.add(command)
      for (const command of entry.commands) state.refused.delete(command)
      for (const task of state.tasks.values()) if (mayGoOn(state, task)) putBack(task)
      return
    case 'commands:refused':
      for (const command of entry.commands) state.allowed.delete(command)
      for (const command of entry.commands) state.refused.add(command)
      return
    case 'loop:setup':
      state.isSetUp = true
      return
    case 'list:changed':
      for (const key of ['added', 'changed', 'removed'] as const)
        state.changes[key] = [...new Set([...state.changes[key], ...entry[key]])]
      return
    case 'task:start':
      begin(state, entry, entry.at)
      return
    case 'tasks:parked':
      for (const start of entry.tasks)
        park(state, begin(state, start, entry.at), {
          ...{ kind: 'commands', why: notAllowedWords(start.commands, state.refused), at: entry.at },
          commands: start.commands,
        })
      return
    case 'loop:wait':
      state.waits += 1
      state.waitUntil = entry.until
      return
    case 'loop:accepted':
      for (const id of entry.tasks) {
        const task = state.tasks.get(id)
        if (task !== undefined) task.accepted = { into: entry.into, commit: entry.commit }
      }
      return
    case 'loop:end':
      state.end = { reason: entry.reason, why: entry.why, at: entry.at }
      return
    case 'loop:start':
    case 'run:left':
    case 'branch:kept':
      return
    default: {
      const task = state.tasks.get(entry.task)
      if (task !== undefined) applyToTask(state, task, entry)
    }
  }
}

function hasLasted({ lastRunAt }: LoopState, until: string): boolean {
  return lastRunAt !== undefined && Date.parse(until) - Date.parse(lastRunAt) > IDLE_MS
}

const IDLE_MS = 60_000

function setUntil(state: LoopState, until: string | null | undefined): void {
  if (until === null) delete state.until
  else if (until !== undefined) state.until = until
}

type TaskEntry = Extract<Stamped, { task: string }>

function applyToTask(state: LoopState, task: TaskState, entry: TaskEntry): void {
  switch (entry.type) {
    case 'task:setup':
      task.isSetUp = true
      return
    case 'iteration:start':
      state.iterations += 1
      task.iterations = entry.n
      task.attempts += 1
      task.stage = { at: 'turn', fromSeq: entry.fromSeq, since: entry.at }
      return
    case 'task:placed':
      task.machine = entry.machine
      delete task.waits
      return
    case 'task:waits':
      task.waits = entry.why
      return
    case 'task:returned':
      task.worktreeId = entry.worktreeId
      // What git ignores did not come along.
      task.isSetUp = false
      return
    case 'task:lost':
      task.stage = { at: 'rest' }
      delete task.machine
      task.spent = entry.spent ?? task.spent
      startFresh(task, entry.fresh)
      return
    case 'iteration:end':
      delete task.waits
      task.spent = entry.spent
      task.stage = { at: 'ended', reason: entry.reason }
      if (entry.limit !== undefined) applyLimit(state, task, entry.limit)
      state.patterns = [...new Set([...state.patterns, ...(entry.pattern ?? [])])].slice(-MAX_PATTERNS)
      return
    case 'task:handed': {
      const { from, to, sessionId, at, why } = entry
      const { sessionId: before, spent } = task
      task.handed = [...(task.handed ?? []), { from, to, sessionId: before, spent, at, why }]
      // Ended, and by no limit: the agent could not work at all, which is no attempt either.
      if (task.stage.at === 'ended') task.attempts -= 1
      task.harness = to
      inNewSession(task, sessionId)
      task.stage = { at: 'rest' }
      return
    }
    case 'checks:start':
      task.stage = {
        ...{ at: 'checks', marker: entry.marker },
        reason: task.stage.at === 'ended' || task.stage.at === 'checks' ? task.stage.reason : 'completed',
      }
      return
    case 'checks:end':
      task.tree = entry.tree
      task.diff = entry.diff
      task.results = entry.results
      delete task.failure
      if (entry.failure !== undefined) task.failure = entry.failure
      task.stage = entry.failure === undefined ? { at: 'passed', tree: entry.tree } : { at: 'rest' }
      return
    case 'task:proved':
      task.commit = entry.commit
      if (entry.flags !== undefined) task.flags = entry.flags
      task.stage = { at: 'proved', commit: entry.commit }
      return
    case 'merge:start':
      task.stage = { at: 'merging', commit: task.commit ?? '', onto: entry.onto }
      return
    case 'task:merged':
      close(task, 'merged', entry.at)
      task.merged = entry.commit
      // The receipt has what they printed.
      task.results = task.results.map(result => ({ ...result, tail: '' }))
      state.head = entry.commit
      state.failures = 0
      return
    case 'task:parked':
      park(state, task, entry)
      return
    case 'task:failed':
      close(task, 'failed', entry.at)
      task.why = entry.why
      state.failures += 1
      return
    case 'revert:start':
      task.reverting = entry.onto
      return
    case 'task:reverted':
      close(task, 'reverted', entry.at)
      task.why = 'Its change was taken back.'
      delete task.reverting
      state.head = entry.commit
      return
    case 'task:again':
      putBack(task)
      if (entry.note !== '') task.notes.push(entry.note)
      if (entry.now !== undefined) task.task = entry.now
      if (entry.fresh !== undefined) startFresh(task, entry.fresh)
  }
}

function begin(state: LoopState, { task, ...names }: TaskStart, startedAt: string): TaskState {
  const { sessionId, worktreeId, base } = names
  const begun: TaskState = {
    ...{ task, status: 'working', stage: { at: 'rest' }, sessionId, worktreeId, base, isSetUp: false },
    ...{ iterations: 0, attempts: 0, spent: { usd: null, isEstimate: false, tokens: 0 }, startedAt },
    ...{ results: [], notes: [] },
  }
  state.tasks.set(task.id, begun)
  return begun
}

type Park = Omit<Extract<Stamped, { type: 'task:parked' }>, 'type' | 'task'>

function park(state: LoopState, task: TaskState, { kind, why, commands, at }: Park): void {
  close(task, 'parked', at)
  task.parked = kind
  task.why = why
  if (commands !== undefined) task.commands = commands
  // Whatever the lines before say: a person is asked for them.
  for (const command of commands ?? []) state.allowed.delete(command)
}

/** Parked only because of commands, and all of them are allowed now. */
function mayGoOn({ allowed }: LoopState, { status, commands }: TaskState): boolean {
  return status === 'parked' && commands !== undefined && commands.every(command => allowed.has(command))
}

function putBack(task: TaskState): void {
  task.status = 'working'
  task.stage = { at: 'rest' }
  task.attempts = 0
  // What follows is not compared with what was before: `tree`.
  for (const key of ['tree', 'parked', 'why', 'commands', 'endedAt'] as const) delete task[key]
}

/** Nothing of the first time counts any more, but for what it cost. */
function startFresh(task: TaskState, { sessionId, worktreeId, base }: FreshStart): void {
  Object.assign(task, { worktreeId, base, isSetUp: false, results: [] })
  inNewSession(task, sessionId)
  for (const key of ['tree', 'diff', 'failure', 'commit', 'merged', 'flags', 'harness', 'handed'] as const)
    delete task[key]
}

function inNewSession(task: TaskState, sessionId: string): void {
  task.sessionId = sessionId
  task.spentBefore = addSpent(task.spentBefore, task.spent)
  task.spent = { usd: null, isEstimate: false, tokens: 0 }
}

/** The agent had no chance: what it was asked is asked again, of it or of another one. */
function applyLimit(state: LoopState, task: TaskState, { harness, until }: PlanLimit): void {
  task.attempts -= 1
  task.stage = { at: 'rest' }
  if (until !== undefined) state.limited.set(harness, until)
}

function close(task: TaskState, status: TaskStatus, at: string): void {
  task.status = status
  task.stage = { at: 'rest' }
  task.endedAt = at
}

const MAX_PATTERNS = 20
