import type { FreshStart, LoopEndReason, LoopRunner, Stamped } from './journal.ts'
import type { LoopSettings } from './loop-settings.ts'
import { parkedWords } from './not-allowed-words.ts'
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

/** A loop as its journal tells it. */
export interface LoopState {
  loopId: string
  list: string
  projectRoot: string
  base: string
  /** Of its branch: the base, and then the last merge. */
  head: string
  baseBranch: string | null
  /** The one that proved tasks are merged onto. Undefined before its first run. */
  branch?: string
  worktreeId: string
  isSetUp: boolean
  /** By `baseKey`: what checks did there before a task began. */
  baseResults: Map<string, BaseResult>
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
  changes: Record<ListChangeKind, string[]>
  /** Tasks that were ticked in the list when it began. */
  tickedBefore: Set<string>
  /** The hash of the list as it was then. */
  listHash?: string
  /** What somebody changed in the user's data folder while it ran, as the loop itself found it. */
  altered: string[]
  /** The files of the copy in the project that somebody changed. */
  copyAltered: string[]
  /** The last commit that was merged on its branch, if the branch does not have it any more. */
  branchLost?: string
  /** What is not as this machine wrote it. Nobody goes on with it until a person says so. */
  broken: string[]
  /** Its files came with the project, or an earlier version wrote them: nothing of them counts. */
  isForeign?: true
  end?: { reason: LoopEndReason; why: string; at: string }
  /** What of its journal cannot be read. It is shown, and nobody goes on with it. */
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
    ...{ loopId, list, projectRoot, base, head: base, baseBranch, worktreeId, settings, startedAt: at },
    ...{ isSetUp: false, runs: 0, pid: 0, by, entries: 1, idleRuns: 0, tasks: new Map() },
    baseResults: new Map(),
    ...{ iterations: 0, failures: 0, waits: 0, limited: new Map() },
    ...{ allowed: new Set(entry.allowed), refused: new Set() },
    ...{ patterns: [], altered: [], copyAltered: [], broken: [], tickedBefore: new Set(entry.ticked) },
    changes: { added: [], changed: [], removed: [], ticked: [], unticked: [] },
    ...(entry.listHash === undefined ? {} : { listHash: entry.listHash }),
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
    case 'base:checked':
      for (const result of entry.results) state.baseResults.set(baseKey({ ...entry, ...result }), result)
      return
    case 'loop:branch':
      state.branch = entry.branch
      return
    case 'list:changed':
      for (const key of ['added', 'changed', 'removed', 'ticked', 'unticked'] as const)
        state.changes[key] = [...new Set([...state.changes[key], ...(entry[key] ?? [])])]
      return
    case 'journal:altered':
      state.altered = [...new Set([...state.altered, ...entry.found])]
      return
    case 'branch:altered':
      state.branchLost = entry.commit
      return
    case 'copy:altered':
      state.copyAltered = [...new Set([...state.copyAltered, ...entry.files])]
      return
    case 'task:start':
      beginTask(state.tasks, entry, entry.at)
      return
    case 'tasks:parked':
      for (const start of entry.tasks)
        park(state, beginTask(state.tasks, start, entry.at), {
          ...{ kind: 'commands', why: parkedWords(start, state.refused), at: entry.at },
          ...{ commands: start.commands, ...(start.missing && { missing: start.missing }) },
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
    default:
      for (const task of [state.tasks.get(entry.task) ?? []].flat()) applyToTask(state, task, entry)
  }
}

/** Of `baseResults`: with another set-up the same check may do something else. */
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
      if (entry.prompt !== undefined) task.prompt = entry.prompt
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
      delete task.denied
      if (entry.denied !== undefined) task.denied = entry.denied
      if (entry.limit !== undefined) applyLimit(state.limited, task, entry.limit)
      else applyFault(task, entry.error)
      state.patterns = [...new Set([...state.patterns, ...(entry.pattern ?? [])])].slice(-MAX_PATTERNS)
      return
    case 'task:handed': {
      const { from, to, sessionId, at, why } = entry
      const { sessionId: before, spent } = task
      task.handed = [...(task.handed ?? []), { from, to, sessionId: before, spent, at, why }]
      // Ended, and by no limit: the agent could not work at all, which is no attempt either.
      if (task.stage.at === 'ended') task.attempts -= 1
      task.harness = to
      delete task.fault
      delete task.denied
      inNewSession(task, sessionId)
      task.stage = { at: 'rest' }
      return
    }
    case 'task:session':
      task.earlier = [...(task.earlier ?? []), { sessionId: task.sessionId, spent: task.spent }]
      inNewSession(task, entry.sessionId)
      return
    case 'checks:start':
      task.stage = {
        ...{ at: 'checks', marker: entry.marker },
        reason: task.stage.at === 'ended' || task.stage.at === 'checks' ? task.stage.reason : 'completed',
      }
      return
    case 'checks:end':
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
      return
    case 'task:proved':
      task.commit = entry.commit
      if (entry.flags !== undefined) task.flags = entry.flags
      if (entry.proof !== undefined) task.proof = entry.proof
      task.stage = { at: 'proved', commit: entry.commit }
      return
    case 'merge:start':
      task.stage = { at: 'merging', commit: task.commit ?? '', onto: entry.onto }
      return
    case 'task:merged':
      close(task, 'merged', entry.at)
      task.merged = entry.commit
      if (entry.receipt !== undefined) task.receipt = entry.receipt
      // The receipt has what they printed.
      task.results = task.results.map(result => ({ ...result, tail: '' }))
      if (task.proof !== undefined) task.proof = shortProof(task.proof)
      for (const key of ['counted', 'read'] as const) delete task[key]
      state.head = entry.commit
      delete state.branchLost
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

type Park = Omit<Extract<Stamped, { type: 'task:parked' }>, 'type' | 'task'> & { missing?: string[] }

function park(state: LoopState, task: TaskState, { kind, why, commands, options, missing, at }: Park): void {
  close(task, 'parked', at)
  task.parked = kind
  task.why = why
  Object.assign(task, commands && { commands }, options && { options }, missing && { missing })
  // Whatever the lines before say: a person is asked for them.
  for (const command of commands ?? []) state.allowed.delete(command)
}

/** Parked only because of commands, and all of them are allowed now. */
function mayGoOn({ allowed }: LoopState, { status, commands, missing }: TaskState): boolean {
  if (status !== 'parked' || commands === undefined) return false
  // Without its checks it waits for a person, unless they allow others in their place.
  if (missing !== undefined && commands.length === 0) return false
  return commands.every(command => allowed.has(command))
}

/** The same without what the checks printed and which tests there were: a loop has thousands of tasks in memory. */
function shortProof({ base, own, judged, ...proof }: Proof): Proof {
  const short = <T extends { tail: string }>(results: T[]) => results.map(result => ({ ...result, tail: '' }))
  return {
    ...proof,
    ...{ base: short(base).map(result => ({ ...result, counted: null })), own: short(own) },
    judged: judged.kind === 'ran' ? { ...judged, results: short(judged.results) } : judged,
  }
}

/** Nothing of the first time counts any more, but for what it cost. */
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

const MAX_PATTERNS = 20
const IDLE_MS = 60_000
