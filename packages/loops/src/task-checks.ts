import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { type CheckResult, checkRecordOf, failureOf, hasPassed, runShown } from './checks.ts'
import type { DiffStat, JournalEntry } from './journal.ts'
import type { LoopContext } from './loop-context.ts'
import type { TaskState } from './loop-state.ts'
import { baseResult } from './proof/base.ts'
import { branchRunner, knownBase, setUpBranch, variablesOf } from './proof/base-checks.ts'
import { type CheckRun, runCounted } from './proof/counted-check.ts'
import { LOCK } from './proof/file-kinds.ts'
import { testsWrittenSince } from './proof/hidden-changes.ts'
import { WRITTEN } from './proof/judge.ts'
import { watchReads } from './proof/opened-files.ts'
import type { BaseResult } from './proof/verdict.ts'
import type { TaskTree } from './task-tree.ts'
import { unfinishedWords } from './turn-end.ts'

/** Result of the checks on an agent's work. */
export interface Checked {
  entry: Extract<JournalEntry, { type: 'checks:end' }>
  /** Complete output for the agent; empty if everything passed. */
  output: string
  diff: DiffStat
  /** True if the agent finished and the same failure as before came with the same files. */
  isNoProgress: boolean
}

/** The set-up and the checks of one task. */
export class TaskChecks {
  readonly #loop: LoopContext
  readonly #task: TaskState

  constructor(loop: LoopContext, task: TaskState) {
    this.#loop = loop
    this.#task = task
  }

  /** Runs the set-up. Returns the reason if it fails. */
  async setUp(folder: string): Promise<string | undefined> {
    const { settings } = this.#loop.state
    for (const command of settings.setup) {
      const options = this.#options(folder, this.#task.worktreeId)
      const result = await runShown(command, options, this.#shown())
      if (!hasPassed(result)) return `The set-up failed. ${failureOf(result)}`
    }
    this.#loop.record({ type: 'task:setup', task: this.#task.task.id })
  }

  /** Runs the checks on the agent's tree. Undefined if the loop was stopped meanwhile. */
  async run(tree: TaskTree, folder: string): Promise<Checked | undefined> {
    const task = this.#task
    const { record, signal } = this.#loop
    const { reason } = task.stage.at === 'ended' || task.stage.at === 'checks' ? task.stage : COMPLETED
    const marker = randomUUID()
    record({ type: 'checks:start', task: task.task.id, n: task.iterations, marker })
    const hidden = await tree.showHidden()
    const staged = await tree.stage(task.base, this.#listFiles(tree))
    const { stat: diff, files } = await tree.difference(task.base, staged)
    const hasFinished = reason === 'completed' || reason === 'max_turns'
    const failures: string[] = []
    if (!hasFinished) failures.push(unfinishedWords(reason, task.fault))
    if (task.task.expect === 'diff' && diff.files === 0)
      failures.push('No file was changed, and the task needs a change.')
    if (task.task.expect === 'none' && diff.files > 0)
      failures.push(`${diff.files} files were changed, and the task must change none.`)
    const seen = await watchReads(
      tree.top,
      files.map(file => file.path),
    )
    const options = { ...this.#options(folder, marker), env: await variablesOf(this.#loop, task.worktreeId) }
    const runs: CheckRun[] = []
    const since = Date.now() + 1
    for (const command of task.task.checks) {
      if (signal.aborted) return undefined
      runs.push(await this.#runOnce(command, check => runCounted(check, options, this.#shown())))
    }
    if (signal.aborted) return undefined
    const read = await seen()
    failures.push(...runs.filter(run => this.#counts(run)).map(run => this.#words(run)))
    if (failures.length === 0) {
      if ((await tree.stagedTree()) !== staged)
        failures.push('A check changed what is staged for the commit.')
      hidden.push(...testsWrittenSince(tree.top, await tree.filesIn(staged), since))
    }
    const output = failures.join('\n\n')
    const failure = output.slice(0, MAX_JOURNAL_TEXT)
    const isNoProgress = hasFinished && task.tree === staged && this.#isSameFailure(runs)
    const entry: Checked['entry'] = {
      type: 'checks:end',
      task: task.task.id,
      n: task.iterations,
      tree: staged,
      diff,
      results: runs.map(({ result }) => checkRecordOf(result)),
      counted: runs.map(({ result: _result, ...count }) => count),
      read,
      hidden,
      failure: failure === '' ? undefined : failure,
    }
    return { entry, output, diff, isNoProgress }
  }

  /** Runs a check, and repeats a flaky one: a single failure of it proves nothing. */
  async #runOnce(command: string, run: (command: string) => Promise<CheckRun>): Promise<CheckRun> {
    const isFlaky = this.#before(command)?.state === 'flaky'
    let last = await run(command)
    for (let more = isFlaky ? FLAKY_RUNS - 1 : 0; more > 0 && !hasPassed(last.result); more -= 1)
      last = await run(command)
    return last
  }

  #before(command: string): BaseResult | undefined {
    return knownBase(this.#loop.state, this.#task.base, command)
  }

  /**
   * True if a failed run counts against the task. An earlier failure does not, unless other tests fail now; a check
   * that only this task has must become green.
   */
  #counts({ result, counted }: CheckRun): boolean {
    if (hasPassed(result)) return false
    const before = this.#before(result.command)
    if (before?.state !== 'red' || !this.#loop.isShared(result.command)) return true
    const known = new Set(before.counted?.failing)
    return counted !== null && before.counted !== null && counted.failing.some(name => !known.has(name))
  }

  #words({ result }: CheckRun): string {
    const wasRed = this.#before(result.command)?.state === 'red'
    return `${failureOf(result)}${wasRed ? '\nIt failed before this task began, too.' : ''}`
  }

  /** Compares the failed tests and not the output, in which times, orders and paths differ from run to run. */
  #isSameFailure(runs: readonly CheckRun[]): boolean {
    const { results, counted = [], failure } = this.#task
    if (failure === undefined) return false
    const now = runs.map(({ result, counted: count }) => failedBy(result, count?.failing))
    const then = results.map((result, at) => failedBy(result, counted[at]?.counted?.failing))
    return JSON.stringify(now) === JSON.stringify(then)
  }

  /** Files of the list, which are restored: an agent that ticks its own box changes nothing. */
  #listFiles(tree: TaskTree): string[] {
    const { list, projectRoot } = this.#loop.state
    const inProject = path.relative(projectRoot, list)
    return inProject.startsWith('..') ? [] : [path.posix.join(tree.prefix, inProject)]
  }

  /**
   * Runs the checks on the loop's branch with this task merged. Returns the failure, or the results, which are the base
   * for tasks that start at that commit.
   */
  async runMerged(tree: TaskTree, onto: string, merge: string): Promise<{ broken: string } | BaseResult[]> {
    const { files } = await tree.difference(onto, merge)
    try {
      await setUpBranch(this.#loop, tree.folder, files.some(DEPENDS))
    } catch (error) {
      return { broken: error instanceof Error ? error.message : String(error) }
    }
    const run = await branchRunner(this.#loop, tree.folder, this.#task.task.id)
    const results: BaseResult[] = []
    const since = Date.now() + 1
    for (const command of this.#task.task.checks) {
      if (this.#loop.signal.aborted) return results
      const found = await this.#runOnce(command, run)
      if (this.#counts(found)) return { broken: this.#words(found) }
      results.push(baseResult(found, hasPassed(found.result) ? 'green' : 'red'))
    }
    const written = testsWrittenSince(tree.top, await tree.filesIn(merge), since)
    return written.length > 0 ? { broken: `${WRITTEN} ${written.join(', ')}` } : results
  }

  #options(cwd: string, marker: string) {
    const { signal, state } = this.#loop
    return { cwd, marker, signal, timeoutMs: state.settings.check_minutes * MINUTE_MS }
  }

  #shown() {
    return { id: this.#task.task.id, running: this.#loop.running }
  }
}

function failedBy(
  { command, exitCode, stopped }: Pick<CheckResult, 'command' | 'exitCode' | 'stopped'>,
  failing?: readonly string[],
) {
  return [command, exitCode, stopped ?? null, [...(failing ?? [])].sort()]
}

/** Files after whose change the installed dependencies may be outdated. */
const DEPENDS = ({ path: file }: { path: string }) =>
  LOCK.test(file) ||
  /(^|\/)(package\.json|pyproject\.toml|requirements[^/]*\.txt|Cargo\.toml|go\.mod)$/.test(file)
const COMPLETED = { reason: 'completed' }
const FLAKY_RUNS = 3
const MINUTE_MS = 60_000
const MAX_JOURNAL_TEXT = 8_000
