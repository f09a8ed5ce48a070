import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { isCodedError, type PermissionRequestEvent } from '@chirality/core'
import { type LiveSession, noteClaudeSession } from '@chirality/sessions'
import { turnAway } from './away-turn.ts'
import { type CheckResult, endMarked, failureOf, hasPassed, recordOf, runShown } from './checks.ts'
import { readIfThere, replaceFile } from './files.ts'
import { findFlags } from './flags.ts'
import { handOver, harnessOf, limitedUntil, planLimit } from './hand-over.ts'
import type { JournalEntry, ParkKind } from './journal.ts'
import { LoopBranch } from './loop-branch.ts'
import { isUsedUp, iterationsLeft, type LoopContext, type TaskOutcome } from './loop-context.ts'
import { writeBudget, writeProgress } from './loop-files.ts'
import type { TaskState } from './loop-state.ts'
import { packPrompt, patternsIn } from './prompt.ts'
import { makeReceipt, writeReceipt } from './receipt.ts'
import { TaskTree, worktreeOf } from './task-tree.ts'
import {
  budgetOf,
  eventsAfter,
  firstLine,
  lastText,
  NOT_HERE,
  NOT_OURS,
  PARK_CODES,
  PARK_KIND,
  permissionsOf,
  questionIn,
  requestWords,
  roleOf,
  spentIn,
} from './turn-facts.ts'
import { watchTurn } from './watched-turn.ts'

/** One task, from where its journal left it to its end. */
export class TaskRun {
  readonly #loop: LoopContext
  readonly #task: TaskState
  /** What its agent asked on another machine, which ended that turn. */
  #asked: PermissionRequestEvent | undefined

  constructor(loop: LoopContext, task: TaskState) {
    this.#loop = loop
    this.#task = task
  }

  async run(): Promise<TaskOutcome> {
    try {
      return await this.#run()
    } catch (error) {
      if (this.#loop.signal.aborted) return 'stopped'
      const known = isCodedError(error) ? PARK_CODES.get(error.code) : undefined
      return this.#park(
        known ?? (this.#isAgentMissing() ? 'harness' : 'error'),
        error instanceof Error ? error.message : String(error),
      )
    }
  }

  #isAgentMissing(): boolean {
    const { harness = this.#task.task.harness } = this.#task
    return harness !== undefined && !this.#loop.host.harnessIds().includes(harness)
  }

  async #run(): Promise<TaskOutcome> {
    const { host, state, signal } = this.#loop
    const task = this.#task
    const away = await turnAway(this.#loop, task)
    if (away.kind !== 'here') return away.kind === 'stopped' ? 'stopped' : this.#run()
    this.#asked = away.asked
    const worktree = await worktreeOf(host, state, task)
    const folder = path.join(worktree.folder, worktree.prefix)
    await TaskTree.gitHasEnded(worktree.id)
    const tree = await TaskTree.open(folder, worktree.id)
    let live = await this.#session()
    if (task.stage.at === 'checks') await endMarked(task.stage.marker)
    // For a turn elsewhere it is set up there, and here when it is back.
    if (!task.isSetUp && (task.task.where === undefined || task.stage.at !== 'rest')) {
      await endMarked(task.worktreeId)
      const broken = await this.#setUp(folder)
      if (signal.aborted) return 'stopped'
      if (broken !== undefined) return this.#park('error', broken)
    }
    for (;;) {
      if (signal.aborted) return 'stopped'
      if (task.stage.at === 'proved' || task.stage.at === 'merging') return await this.#merge(live)
      if (task.stage.at === 'passed' && (await tree.stagedTree()) === task.stage.tree) {
        await this.#commit(tree, live)
        continue
      }
      if (task.stage.at === 'rest') {
        if (task.attempts >= state.settings.max_attempts)
          return this.#fail(`Not proved after ${task.attempts} attempts. ${firstLine(task.failure)}`)
        if (isUsedUp(this.#loop.rest()) || isUsedUp({ iterations: iterationsLeft(state) })) return 'limit'
        const limited = await this.#knownLimit(live)
        if (limited === 'handed') {
          live = await this.#session()
          continue
        }
        if (limited !== undefined) return limited
        await this.#begin(live)
        if (task.task.where !== undefined) return await this.#run()
      }
      if (task.stage.at === 'turn') {
        const outcome = await this.#turn(live)
        if (outcome === 'handed') {
          live = await this.#session()
          continue
        }
        if (outcome !== undefined) return outcome
      }
      if (signal.aborted) return 'stopped'
      await this.#prove(tree, folder, live)
      if (task.status !== 'working') return 'over'
    }
  }

  async #session(): Promise<LiveSession> {
    const { host, state } = this.#loop
    const { sessionId, worktreeId, task } = this.#task
    if ((await host.store.get(sessionId)) === undefined) {
      const { persona, harness, model, title } = task
      const { harness: handedTo } = this.#task
      await host.createSession(state.projectRoot, {
        ...{ id: sessionId, worktree: { id: worktreeId }, title },
        ...(persona === undefined ? {} : { persona }),
        // The model is one of the agent that the list names.
        ...(handedTo !== undefined
          ? { harness: handedTo }
          : { ...(harness === undefined ? {} : { harness }), ...(model === undefined ? {} : { model }) }),
        ...budgetOf(this.#task),
      })
    }
    return host.session(sessionId)
  }

  async #setUp(folder: string): Promise<string | undefined> {
    const { settings } = this.#loop.state
    for (const command of settings.setup) {
      const result = await this.#check(command, folder, this.#task.worktreeId)
      if (!hasPassed(result)) return `The set-up failed. ${failureOf(result)}`
    }
    this.#loop.record({ type: 'task:setup', task: this.#task.task.id })
  }

  #check(command: string, cwd: string, marker: string): Promise<CheckResult> {
    const { signal, state, running } = this.#loop
    const options = { cwd, marker, signal, timeoutMs: state.settings.check_minutes * MINUTE_MS }
    return runShown(command, options, { id: this.#task.task.id, running })
  }

  /** Says in the journal that a turn begins, and keeps what the agent will be told. */
  async #begin(live: LiveSession): Promise<void> {
    const { state, folder, record } = this.#loop
    const task = this.#task
    const n = task.iterations + 1
    const failure = readIfThere(this.#file('outputs', task.iterations)) ?? task.failure
    const progress = readIfThere(path.join(folder, 'progress.md')) ?? ''
    const prompt = packPrompt({ state: task, progress, patterns: state.patterns, failure })
    replaceFile(this.#file('prompts', n), prompt)
    record({ type: 'iteration:start', task: task.task.id, n, fromSeq: live.log.lastSeq })
  }

  /** Undefined if its result is to be checked; `handed` if another agent goes on. */
  async #turn(live: LiveSession): Promise<TaskOutcome | 'handed' | undefined> {
    const task = this.#task
    const { host, signal, state, record } = this.#loop
    if (task.stage.at !== 'turn') return undefined
    const { fromSeq, since } = task.stage
    const hasBegun = eventsAfter(live, fromSeq).some(({ type }) => type === 'turn:start')
    const limitMs = state.settings.iteration_minutes * MINUTE_MS
    const watched = await watchTurn({
      ...{ host, live, signal, limitMs, since: hasBegun ? since : undefined },
      answerMs: () => state.settings.answer_minutes * MINUTE_MS,
      start: () =>
        live.start(readIfThere(this.#file('prompts', task.iterations)) ?? task.task.title, {
          ...permissionsOf(task),
          ...this.#budget(),
          timeoutMs: limitMs,
        }),
    })
    if (watched.left) return 'stopped'
    const asked = this.#asked ?? watched.asked
    const events = eventsAfter(live, fromSeq)
    const end = events.findLast(event => event.type === 'turn:end')
    const reason = end?.type === 'turn:end' ? end.reason : 'crashed'
    const { claudeSessionId } = live.stored
    await noteClaudeSession(state.projectRoot, roleOf(task), claudeSessionId)
    const failed = events.findLast(event => event.type === 'session:error' && !event.recovered)
    const { code, error: lastError } =
      reason === 'failed' && failed?.type === 'session:error' ? failed : NO_ERROR
    const harness = await harnessOf(this.#loop, task, live)
    const limit = code === 'rate_limited' ? planLimit(harness, live, fromSeq) : undefined
    const ended: JournalEntry = {
      ...{ type: 'iteration:end', task: task.task.id, n: task.iterations, reason, spent: spentIn(live) },
      pattern: patternsIn(lastText(live, fromSeq)),
      ...(limit === undefined ? {} : { limit }),
    }
    // One that the list names is the user's to mend; one that it was only handed to is passed over.
    const broken = task.harness !== undefined && NOT_HERE.has(code ?? '') ? lastError : undefined
    const mayGoOn = asked === undefined && !signal.aborted && (limit ?? broken) !== undefined
    const handed = mayGoOn ? await handOver(this.#loop, task, limit ?? { harness }, broken) : undefined
    // Only this process knows what was asked: the end of the turn is not written down without it.
    if (asked !== undefined) record(ended, this.#parked(PARK_KIND[asked.kind], requestWords(asked)))
    else if (handed !== undefined) record(ended, handed)
    else record(ended)
    writeBudget(this.#loop.state, this.#loop.folder)
    if (asked !== undefined) return 'over'
    if (signal.aborted) return 'stopped'
    if (reason === 'budget') {
      if (isUsedUp(this.#loop.rest())) return 'limit'
      return this.#park(
        'budget',
        'The budget of the task is used up. Raise it in the list and run the task again.',
      )
    }
    if (reason === 'interrupted' || reason === 'killed')
      return this.#park('interrupted', 'Somebody stopped the agent in its session.')
    if (handed !== undefined) return 'handed'
    if (limit !== undefined) return { rateLimit: limit.until }
    if (NOT_OURS.has(code ?? '')) return this.#park('harness', lastError)
    return undefined
  }

  /** Before a turn: a limit that another turn met holds for this one, too. */
  async #knownLimit(live: LiveSession): Promise<{ rateLimit: string } | 'handed' | undefined> {
    const harness = await harnessOf(this.#loop, this.#task, live)
    const until = limitedUntil(this.#loop.state, harness)
    if (until === undefined) return undefined
    const handed = await handOver(this.#loop, this.#task, { harness, until })
    if (handed === undefined) return { rateLimit: until }
    this.#loop.record(handed)
    return 'handed'
  }

  #budget() {
    const { usd, tokens } = this.#loop.rest()
    return {
      ...(usd === undefined ? {} : { maxBudgetUsd: usd }),
      ...(tokens === undefined ? {} : { maxBudgetTokens: tokens }),
    }
  }

  /** Runs the checks in the worktree, and writes down what they said. */
  async #prove(tree: TaskTree, folder: string, live: LiveSession): Promise<void> {
    const task = this.#task
    const { record, signal } = this.#loop
    const reason = task.stage.at === 'ended' || task.stage.at === 'checks' ? task.stage.reason : 'completed'
    const marker = randomUUID()
    record({ type: 'checks:start', task: task.task.id, n: task.iterations, marker })
    const staged = await tree.stage(task.base, this.#listFiles(tree))
    const diff = await tree.diffStat(task.base, staged)
    const failures: string[] = []
    const hasFinished = reason === 'completed' || reason === 'max_turns'
    if (!hasFinished) failures.push(`The agent did not finish: ${reason}.`)
    if (task.task.expect === 'diff' && diff.files === 0)
      failures.push('No file was changed, and the task needs a change.')
    if (task.task.expect === 'none' && diff.files > 0)
      failures.push(`${diff.files} files were changed, and none was to be.`)
    const results: CheckResult[] = []
    for (const command of task.task.checks) {
      if (signal.aborted) return
      results.push(await this.#check(command, folder, marker))
    }
    if (signal.aborted) return
    failures.push(...results.filter(result => !hasPassed(result)).map(failureOf))
    if ((await tree.stagedTree()) !== staged) failures.push('A check changed what is staged for the commit.')
    const output = failures.join('\n\n')
    if (output !== '') replaceFile(this.#file('outputs', task.iterations), output)
    const failure = output.slice(0, MAX_JOURNAL_TEXT)
    const ended: JournalEntry = {
      ...{ type: 'checks:end', task: task.task.id, n: task.iterations, tree: staged, diff },
      results: results.map(recordOf),
      ...(failure === '' ? {} : { failure }),
    }
    if (failure === '') return record(ended)
    const question = diff.files === 0 ? questionIn(lastText(live, 0)) : undefined
    if (question !== undefined) record(ended, this.#parked('question', question))
    // An agent that was cut off, by a crash of the server too, has not had its chance.
    else if (hasFinished && task.tree === staged && task.failure === failure)
      record(ended, this.#failed(`${SAME_TWICE} ${firstLine(failure)}`))
    else record(ended)
  }

  /** An agent that ticks its own box changes nothing: the list is put back. */
  #listFiles(tree: TaskTree): string[] {
    const { list, projectRoot } = this.#loop.state
    const inProject = path.relative(projectRoot, list)
    return inProject.startsWith('..') ? [] : [path.posix.join(tree.prefix, inProject)]
  }

  async #commit(tree: TaskTree, live: LiveSession): Promise<void> {
    const task = this.#task
    const commit = task.task.expect === 'none' ? task.base : await tree.commit(task.task.title)
    const flags = await findFlags(tree, task.base, commit, task.task)
    this.#loop.record({ type: 'task:proved', task: task.task.id, commit, flags })
    this.#receipt(live, null)
  }

  #receipt(live: LiveSession, merged: string | null): void {
    const { state, folder } = this.#loop
    const { harness, model } = live.status
    const { claudeSessionId: nativeId } = live.stored
    const facts = { loop: state, task: this.#task, harness, model, nativeId, merged }
    writeReceipt(path.join(folder, 'receipts'), makeReceipt(facts))
  }

  /** Onto the loop's branch, in its worktree, where the checks run again. */
  async #merge(live: LiveSession): Promise<TaskOutcome> {
    const { host, state, record, signal, ticked } = this.#loop
    const task = this.#task
    const commit = task.commit ?? task.base
    return this.#loop.merging(async () => {
      const branch = await LoopBranch.open(host, state)
      let merged = await branch.tree.head()
      if (task.task.expect === 'diff') {
        const made = await this.#mergeOnto(branch, commit)
        if (!made.merged)
          return this.#park(
            'conflict',
            `It cannot be merged: ${made.files.join(', ')} changed on the loop's branch, too.`,
          )
        merged = made.merge
        const broken = await this.#checkMerge(branch.tree.folder)
        if (signal.aborted || broken !== undefined) await branch.undo(made.merge, made.onto, record)
        if (signal.aborted) return 'stopped'
        if (broken !== undefined)
          return this.#park('merge-checks', `Merged with the other tasks it fails. ${broken}`)
      }
      // Before it is said to be merged: what is merged has a receipt that says so.
      this.#receipt(live, merged)
      record({ type: 'task:merged', task: task.task.id, commit: merged })
      ticked(task.task.id)
      writeProgress(state, this.#loop.folder)
      // The commits are on the loop's branch, so nothing of it is lost.
      await host.worktrees.remove(task.worktreeId)
      return 'over'
    })
  }

  async #mergeOnto(branch: LoopBranch, commit: string) {
    const { state, record } = this.#loop
    const { stage, task } = this.#task
    // Made by a process that was killed, and commits of a person are on top of it.
    const merge = stage.at === 'merging' ? await branch.tree.mergeOf(commit, stage.onto) : undefined
    if (stage.at === 'merging' && merge !== undefined)
      return { merged: true, merge, onto: stage.onto } as const
    const onto = await branch.tree.head()
    record({ type: 'merge:start', task: task.id, onto })
    const message = `${task.title}\n\nTask ${task.id} of ${path.basename(state.list)}`
    return { ...(await branch.merge(commit, message, onto)), onto }
  }

  async #checkMerge(folder: string): Promise<string | undefined> {
    const { state, record, signal } = this.#loop
    if (!state.isSetUp) {
      for (const command of state.settings.setup) {
        const result = await this.#check(command, folder, state.worktreeId)
        if (!hasPassed(result)) return failureOf(result)
      }
      record({ type: 'loop:setup' })
    }
    for (const command of this.#task.task.checks) {
      const result = await this.#check(command, folder, state.worktreeId)
      if (signal.aborted) return undefined
      if (!hasPassed(result)) return failureOf(result)
    }
    return undefined
  }

  #park(kind: ParkKind, why: string): TaskOutcome {
    this.#loop.record(this.#parked(kind, why))
    return 'over'
  }

  #parked(kind: ParkKind, why: string): JournalEntry {
    return { type: 'task:parked', task: this.#task.task.id, kind, why: why.slice(0, MAX_JOURNAL_TEXT) }
  }

  #fail(why: string): TaskOutcome {
    this.#loop.record(this.#failed(why))
    return 'over'
  }

  #failed(why: string): JournalEntry {
    return { type: 'task:failed', task: this.#task.task.id, why: why.slice(0, MAX_JOURNAL_TEXT) }
  }

  #file(kind: 'prompts' | 'outputs', n: number): string {
    const folder = path.join(this.#loop.folder, kind)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return path.join(folder, `${this.#task.task.id}-${n}.md`)
  }
}

const SAME_TWICE = 'Two attempts ended with the same files and the same failure.'
const NO_ERROR = { code: undefined, error: '' }
const MINUTE_MS = 60_000
const MAX_JOURNAL_TEXT = 8_000
