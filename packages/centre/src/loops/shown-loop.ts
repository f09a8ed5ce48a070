import path from 'node:path'
import { hasCode } from '@chirality/core'
import {
  addSpent,
  claimedIn,
  firstBase,
  flagsOf,
  hasBox,
  isOver,
  type LoopBook,
  type LoopSettings,
  type LoopState,
  loopError,
  parseTaskList,
  type RunningCommand,
  readLoopFile,
  readLoopReceipt,
  readNamedFile,
  receiptText,
  type Spending,
  spentOf,
  type Task,
  type TaskState,
  tasksToGo,
  verdictCounts,
  verdictOf,
  warningsOf,
} from '@chirality/loops'
import { confine } from '@chirality/workspaces'
import { listFiles } from '../files/find-files.ts'
import { readRegularFile } from '../files/read-file.ts'
import type {
  LoopLimits,
  LoopSummary,
  LoopTaskDetails,
  ShownLoop,
  ShownTask,
  TaskFile,
  UnprovedTask,
} from '../shapes/loops.ts'

export interface Shown {
  state: LoopState
  book: LoopBook
  runs: LoopSummary['runs']
  /** The spending of a session by now. */
  live: (sessionId: string) => Spending | undefined
  /** The command that runs now, before any task. */
  command?: RunningCommand | undefined
}

export async function summaryOf({ state, book, runs, live }: Shown): Promise<LoopSummary> {
  const { loopId, projectRoot, startedAt, iterations, settings, waitUntil, end = null, entries } = state
  const known = [...state.tasks.values()]
  const count = (status: TaskState['status']) => known.filter(task => task.status === status).length
  const tasks = await book.tasks(state)
  const inProject = path.relative(projectRoot, state.list)
  const isWaiting = runs !== 'no' && waitUntil !== undefined && Date.parse(waitUntil) > Date.now()
  return {
    loopId,
    project: projectRoot,
    startedAt,
    runs,
    isOver: isOver(state),
    version: entries,
    iterations,
    list: inProject.startsWith('..') ? state.list : inProject,
    counts: {
      ...verdictCounts(known),
      working: count('working'),
      toGo: tasksToGo(state, tasks).length - count('working'),
      claimed: claimedIn(state, tasks ?? []).length,
    },
    spent: spentOf(state, live),
    limits: {
      budgetUsd: settings.budget_usd ?? null,
      budgetTokens: settings.budget_tokens ?? null,
      maxIterations: settings.max_iterations ?? null,
      maxMinutes: settings.max_minutes ?? null,
      until: state.until ?? null,
      parallel: settings.parallel,
      answerMinutes: settings.answer_minutes,
      maxAttempts: settings.max_attempts,
      maxFailures: settings.max_failures,
      waitForLimits: settings.wait_for_limits,
      waits: state.waits,
      handOver: settings.hand_over ?? false,
      nextHarnesses: settings.next_harnesses ?? [],
    },
    working: known.flatMap(({ status, sessionId }) => (status === 'working' ? [sessionId] : [])),
    unproved: known.flatMap(unprovedTask),
    warnings: warningsOf(state),
    mustSay: state.broken.length > 0,
    waitsUntil: isWaiting ? waitUntil : null,
    end,
  }
}

function unprovedTask(task: TaskState): UnprovedTask[] {
  const { status, iterations, endedAt = null, parked = null, why = null, commands, options } = task
  if (status === 'merged' || status === 'reverted') return []
  const { id, title } = task.task
  return [
    {
      id,
      title,
      status,
      iterations,
      endedAt,
      parked,
      why,
      sessionId: sessionOf(task),
      ...(commands === undefined ? {} : { commands }),
      ...(options === undefined ? {} : { options }),
    },
  ]
}

/** Before its first turn there may be none: a task can be parked because of its commands. */
function sessionOf({ commands, iterations, sessionId }: TaskState): string | null {
  return commands !== undefined && iterations === 0 ? null : sessionId
}

/** The settings with the limits that a person set. */
export function withLimits<S extends Partial<LoopSettings>>(settings: S, limits: LoopLimits): S {
  const all = {
    budget_usd: limits.budgetUsd,
    budget_tokens: limits.budgetTokens,
    parallel: limits.parallel,
    max_iterations: limits.maxIterations,
    max_minutes: limits.maxMinutes,
    answer_minutes: limits.answerMinutes,
    wait_for_limits: limits.waitForLimits,
    hand_over: limits.handOver,
    next_harnesses: limits.nextHarnesses,
  }
  const next: Record<string, unknown> = { ...settings }
  // Undefined, and not left out: it takes the place of a limit that there was.
  for (const [key, value] of Object.entries(all)) if (value !== undefined) next[key] = value ?? undefined
  return next as S
}

/** Throws for a time that is over. */
export function untilOf({ until }: LoopLimits = {}): { until?: Date } {
  if (until == null) return {}
  if (Date.parse(until) > Date.now()) return { until: new Date(until) }
  throw loopError('loop-refused', `${until} is over: the loop could not begin. Give a time to come.`)
}

/** With its tasks in the order of the list, and then those that are not in it any more. */
export async function shownLoop(shown: Shown, branch: string | null): Promise<ShownLoop> {
  const { state, live } = shown
  const { tasks, problem } = await tasksIn(state)
  const listed = new Set(tasks.map(({ id }) => id))
  const gone = [...state.tasks.values()].filter(({ task }) => !listed.has(task.id))
  return {
    ...(await summaryOf(shown)),
    base: {
      checks: firstBase(state).map(({ command, state: found, counted }) => ({
        command,
        state: found,
        tests: counted?.counts.tests ?? null,
      })),
      running: runningOf(shown.command),
    },
    // With the copy in the project, if nobody writes it now.
    ...(shown.runs === 'no' ? { warnings: await shown.book.warnings(state) } : {}),
    branch,
    baseBranch: state.baseBranch,
    listProblem: problem,
    changes: state.changes,
    tasks: [
      ...tasks.map(task => {
        const begun = state.tasks.get(task.id)
        return begun === undefined ? notBegun(task, state) : begunTask(begun, true, live)
      }),
      ...gone.map(task => begunTask(task, false, live)),
    ],
  }
}

async function tasksIn({ list }: LoopState): Promise<{ tasks: Task[]; problem: string | null }> {
  const gone = { tasks: [], problem: `${list} is gone or cannot be read. Put it back.` }
  try {
    const text = await readNamedFile(list)
    if (text === undefined) return gone
    return { tasks: parseTaskList(text, path.basename(list)).tasks, problem: null }
  } catch (error) {
    const isBad = error instanceof Error && hasCode(error, 'bad-list')
    return isBad ? { tasks: [], problem: error.message } : gone
  }
}

function notBegun(listed: Task, state: LoopState): ShownTask {
  const { id, title, groups, dependsOn, checks, ...task } = listed
  const isClaimed = claimedIn(state, [listed]).length > 0
  const status = isClaimed ? 'claimed' : listed.ticked ? 'ticked' : 'open'
  return {
    id,
    title,
    groups,
    dependsOn,
    status,
    stage: null,
    inList: true,
    iterations: 0,
    sessionId: null,
    worktreeId: null,
    checks: checks.map(command => ({ command })),
    diff: null,
    spent: null,
    startedAt: null,
    endedAt: null,
    parked: null,
    why: null,
    commit: null,
    accepted: null,
    flags: [],
    verdict: null,
    harness: task.harness ?? null,
    handed: [],
  }
}

function begunTask(task: TaskState, inList: boolean, live: Shown['live']): ShownTask {
  const { status, stage, sessionId, worktreeId, iterations, startedAt, results } = task
  const flags = flagsOf(task)
  const { id, title, groups, dependsOn, checks } = task.task
  const done = new Map(results.map(({ command, exitCode }) => [command, exitCode]))
  const isAtWork = status === 'working'
  return {
    id,
    title,
    groups,
    dependsOn,
    status,
    inList,
    iterations,
    startedAt,
    sessionId: sessionOf(task),
    worktreeId: sessionOf(task) === null ? null : worktreeId,
    stage: isAtWork ? stageOf(task) : null,
    harness: task.harness ?? task.task.harness ?? null,
    handed: (task.handed ?? []).map(({ from, to, at, why }) => ({ from, to, at, why })),
    // While an agent works, the results of the iteration before say nothing.
    checks: checks.map(command => ({
      command,
      ...(isAtWork && (stage.at === 'turn' || stage.at === 'checks') ? {} : resultOf(done, command)),
    })),
    diff: task.diff ?? null,
    endedAt: task.endedAt ?? null,
    parked: task.parked ?? null,
    spent: addSpent(task.spentBefore, (isAtWork ? live(sessionId) : undefined) ?? task.spent),
    ...(task.commands === undefined ? {} : { commands: task.commands }),
    ...(task.options === undefined ? {} : { options: task.options }),
    why: task.why ?? null,
    commit: task.commit ?? null,
    accepted: task.accepted ?? null,
    flags,
    verdict: verdictOf(task)?.word ?? null,
    ...(task.machine === undefined ? {} : { machine: task.machine }),
    ...(isAtWork && task.waits !== undefined ? { waits: task.waits } : {}),
  }
}

function resultOf(done: ReadonlyMap<string, number | null>, command: string): { exitCode?: number | null } {
  const exitCode = done.get(command)
  return exitCode === undefined ? {} : { exitCode }
}

function stageOf({ stage, isSetUp }: TaskState): ShownTask['stage'] {
  if (!isSetUp) return 'set-up'
  if (stage.at === 'ended' || stage.at === 'passed') return 'checks'
  return stage.at === 'proved' ? 'merging' : stage.at
}

function runningOf(command: RunningCommand | undefined) {
  return command === undefined
    ? null
    : { command: command.command, since: command.since, output: command.output() }
}

export async function taskDetails(
  task: TaskState,
  folder: string,
  command?: RunningCommand,
): Promise<LoopTaskDetails> {
  const { id } = task.task
  const file = async (...parts: string[]) => (await readLoopFile(folder, ...parts)) ?? null
  // Null if there is none yet, or it is not the one that the journal names: the task itself is still shown.
  const receipt = (await readLoopReceipt(folder, task)) ?? null
  return {
    // Of a proved task only the receipt has what its checks printed.
    checks: task.status === 'merged' ? (receipt?.checks ?? task.results) : task.results,
    failure: task.failure ?? null,
    prompt: await file('prompts', `${id}-${task.iterations}.md`),
    notes: task.notes,
    running: runningOf(command),
    receipt,
    receiptText: receipt && receiptText(receipt),
  }
}

/** The Markdown files of a project with boxes to tick, those that are named like a task list first. */
export async function taskFiles(root: string): Promise<TaskFile[]> {
  const names = (await listFiles(root)).filter(name => /\.(?:md|markdown)$/i.test(name))
  const sorted = names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)).slice(0, MAX_FILES)
  const found: TaskFile[] = []
  for (const name of sorted) {
    // git lists links, too: one may name any file of the user, or one without an end.
    const text = await confine(root, name)
      .then(file => readRegularFile(file, MAX_BYTES))
      .catch(() => '')
    if (!hasBox(text)) continue
    found.push({ path: name, ...counted(text, path.basename(name)) })
  }
  return found
}

const MAX_FILES = 300
const MAX_BYTES = 1024 * 1024

function rank(name: string): number {
  const depth = name.split('/').length
  return /task|todo|plan|workflow/i.test(path.basename(name)) ? depth : depth + 100
}

function counted(text: string, name: string): Omit<TaskFile, 'path'> {
  try {
    const { tasks } = parseTaskList(text, name)
    const done = tasks.filter(({ ticked }) => ticked).length
    return { open: tasks.length - done, done, problem: null }
  } catch (error) {
    return { open: 0, done: 0, problem: error instanceof Error ? error.message : String(error) }
  }
}
