import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { isCodedError, type PermissionRequestEvent } from '@chirality/core'
import type { LiveSession } from '@chirality/sessions'
import { turnAway } from './away-turn.ts'
import { endMarked } from './checks.ts'
import { iterationFile } from './files.ts'
import { handOver, harnessOf, limitedUntil } from './hand-over.ts'
import type { JournalEntry, ParkKind } from './journal.ts'
import { LoopBranch } from './loop-branch.ts'
import { isUsedUp, iterationsLeft, type LoopContext, type TaskOutcome } from './loop-context.ts'
import { progressText, writeProgress } from './loop-keeper.ts'
import type { TaskState } from './loop-state.ts'
import { sha256 } from './machine-key.ts'
import { packPrompt } from './prompt.ts'
import { missingWords } from './proof/base.ts'
import { checkBase, knownBase } from './proof/base-checks.ts'
import { makeProof } from './proof/make-proof.ts'
import type { BaseResult } from './proof/verdict.ts'
import { makeReceipt, writeReceipt } from './receipt.ts'
import { TaskChecks } from './task-checks.ts'
import { TaskTree, worktreeOf } from './task-tree.ts'
import { endOfAttempts, freshReason, settleTurn } from './turn-end.ts'
import {
  budgetOf,
  eventsAfter,
  firstLine,
  lastText,
  PARK_CODES,
  questionIn,
  turnPermissions,
} from './turn-facts.ts'
import { readOutput, readTurnPrompt } from './turn-files.ts'
import { watchTurn } from './watched-turn.ts'

/** Runs one task from the stage in its journal to its end. */
export class TaskRun {
  readonly #loop: LoopContext
  readonly #task: TaskState
  readonly #checks: TaskChecks
  /** Request of an agent on another machine, which ended its turn. */
  #asked: PermissionRequestEvent | undefined

  constructor(loop: LoopContext, task: TaskState) {
    this.#loop = loop
    this.#task = task
    this.#checks = new TaskChecks(loop, task)
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
    const { host, state, signal, record } = this.#loop
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
    // A turn elsewhere is set up there; the set-up here runs when it returns.
    if (!task.isSetUp && (task.task.where === undefined || task.stage.at !== 'rest')) {
      await endMarked(task.worktreeId)
      const broken = await this.#checks.setUp(folder)
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
        const over = endOfAttempts(task, state.settings)
        if (over !== undefined) {
          record(over)
          return 'over'
        }
        if (isUsedUp(this.#loop.rest()) || isUsedUp({ iterations: iterationsLeft(state) })) return 'limit'
        const limited = await this.#knownLimit(live)
        if (limited === 'handed') {
          live = await this.#session()
          continue
        }
        if (limited !== undefined) return limited
        const missing = await this.#base()
        if (signal.aborted) return 'stopped'
        if (missing !== undefined) return this.#park('error', missing)
        const why = freshReason(task, state.settings, live)
        if (why !== undefined) {
          record({ type: 'task:session', task: task.task.id, sessionId: randomUUID(), why })
          live = await this.#session()
        }
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
        id: sessionId,
        worktree: { id: worktreeId },
        title,
        persona,
        harness: handedTo ?? harness,
        // The model belongs to the agent that the list names.
        model: handedTo === undefined ? model : undefined,
        ...budgetOf(this.#task),
      })
    }
    return host.session(sessionId)
  }

  /** Runs the checks before the task changes anything. Returns the reason if they cannot run. */
  async #base(): Promise<string | undefined> {
    const { base: commit, task } = this.#task
    const { state } = this.#loop
    await checkBase(this.#loop, {
      commit,
      commands: task.checks,
      id: this.#task.worktreeId,
      shownAs: task.id,
    })
    const known = task.checks.flatMap(command => knownBase(state, commit, command) ?? [])
    return missingWords(known, state.settings.setup)
  }

  /** Records the start of a turn, and stores its prompt. */
  async #begin(live: LiveSession): Promise<void> {
    const { state, record, put } = this.#loop
    const task = this.#task
    const n = task.iterations + 1
    const failure = await readOutput(this.#loop, task)
    const prompt = packPrompt({
      state: task,
      progress: progressText(state),
      patterns: state.patterns,
      failure,
    })
    put(prompt, 'prompts', iterationFile(task, n))
    const words = { type: 'iteration:start', task: task.task.id, n, fromSeq: live.log.lastSeq } as const
    record({ ...words, prompt: sha256(prompt) })
  }

  /** Undefined if the result has to be checked; `handed` if another agent continues. */
  async #turn(live: LiveSession): Promise<TaskOutcome | 'handed' | undefined> {
    const task = this.#task
    const { host, signal, state } = this.#loop
    if (task.stage.at !== 'turn') return undefined
    const { fromSeq, since } = task.stage
    const hasBegun = eventsAfter(live, fromSeq).some(({ type }) => type === 'turn:start')
    const limitMs = state.settings.iteration_minutes * MINUTE_MS
    const watched = await watchTurn({
      host,
      live,
      signal,
      limitMs,
      since: hasBegun ? since : undefined,
      answerMs: () => state.settings.answer_minutes * MINUTE_MS,
      start: async () =>
        live.start(await readTurnPrompt(this.#loop, task), {
          ...turnPermissions(task),
          ...this.#budget(),
          timeoutMs: limitMs,
          unattended: true,
        }),
    })
    if (watched.left) return 'stopped'
    const asked = this.#asked ?? watched.asked
    return settleTurn(this.#loop, task, live, { fromSeq, asked, isTakenUp: hasBegun })
  }

  /** Applies a limit that another turn met, before a turn starts. */
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

  /** Runs the checks in the worktree, and records their results. */
  async #prove(tree: TaskTree, folder: string, live: LiveSession): Promise<void> {
    const { record, put } = this.#loop
    const checked = await this.#checks.run(tree, folder)
    if (checked === undefined) return
    const { entry, output, diff, isNoProgress } = checked
    if (output !== '') put(output, 'outputs', iterationFile(this.#task))
    if (entry.failure === undefined) return record(entry)
    const question = diff.files === 0 ? questionIn(lastText(live, 0)) : undefined
    if (question !== undefined) record(entry, this.#parked('question', question))
    // An agent that was cut off, even by a crash of the server, gets another attempt.
    else if (isNoProgress) record(entry, this.#failed(`${SAME_TWICE} ${firstLine(entry.failure)}`))
    else record(entry)
  }

  async #commit(tree: TaskTree, live: LiveSession): Promise<void> {
    const task = this.#task
    const commit = task.task.expect === 'none' ? task.base : await tree.commit(task.task.title)
    const proof = await makeProof(this.#loop, { tree, task, commit })
    if (this.#loop.signal.aborted) return
    this.#loop.record({ type: 'task:proved', task: task.task.id, commit, proof })
    this.#receipt(live, null)
  }

  /** Resolves with the receipt's hash. */
  #receipt(live: LiveSession, merged: string | null): string {
    const { state, put, seal } = this.#loop
    const { harness, model } = live.status
    const { claudeSessionId: nativeId } = live.stored
    const facts = { loop: state, task: this.#task, harness, model, nativeId, merged }
    return writeReceipt(makeReceipt(facts), seal, put)
  }

  /** Merges the task onto the loop's branch in its worktree, and runs the checks again there. */
  async #merge(live: LiveSession): Promise<TaskOutcome> {
    const { host, state, record, signal, ticked } = this.#loop
    const task = this.#task
    const commit = task.commit ?? task.base
    return this.#loop.merging(async () => {
      const branch = await LoopBranch.open(host, state)
      let merged = await branch.tree.head()
      let base: BaseResult[] = []
      if (task.task.expect === 'diff') {
        const made = await this.#mergeOnto(branch, commit)
        if (!made.merged)
          return this.#park(
            'conflict',
            `It cannot be merged: ${made.files.join(', ')} changed on the loop's branch, too.`,
          )
        merged = made.merge
        const done = await this.#checks.runMerged(branch.tree, made.onto, made.merge)
        const isBroken = 'broken' in done
        if (signal.aborted || isBroken) await branch.undo(made.merge, made.onto, record)
        if (signal.aborted) return 'stopped'
        if (isBroken)
          return this.#park('merge-checks', `Merged with the other tasks it fails. ${done.broken}`)
        base = done
      }
      // Written before the merge is recorded: every merged task has a receipt that says so.
      const receipt = this.#receipt(live, merged)
      const { setup } = state.settings
      record(
        { type: 'task:merged', task: task.task.id, commit: merged, receipt },
        ...(base.length === 0
          ? []
          : [{ type: 'base:checked', commit: merged, setup, results: base } as const]),
      )
      ticked(task.task.id)
      writeProgress(this.#loop)
      // Nothing is lost, because the commits are on the loop's branch.
      await host.worktrees.remove(task.worktreeId)
      return 'over'
    })
  }

  async #mergeOnto(branch: LoopBranch, commit: string) {
    const { state, record } = this.#loop
    const { stage, task } = this.#task
    // A killed process made the merge, and a person's commits follow it.
    const merge = stage.at === 'merging' ? await branch.tree.mergeOf(commit, stage.onto) : undefined
    if (stage.at === 'merging' && merge !== undefined)
      return { merged: true, merge, onto: stage.onto } as const
    const onto = await branch.tree.head()
    record({ type: 'merge:start', task: task.id, onto })
    const message = `${task.title}\n\nTask ${task.id} of ${path.basename(state.list)}`
    return { ...(await branch.merge(commit, message, onto)), onto }
  }

  #park(kind: ParkKind, why: string): TaskOutcome {
    this.#loop.record(this.#parked(kind, why))
    return 'over'
  }

  #parked(kind: ParkKind, why: string): JournalEntry {
    return { type: 'task:parked', task: this.#task.task.id, kind, why: why.slice(0, MAX_JOURNAL_TEXT) }
  }

  #failed(why: string): JournalEntry {
    return { type: 'task:failed', task: this.#task.task.id, why: why.slice(0, MAX_JOURNAL_TEXT) }
  }
}

const SAME_TWICE = 'Two attempts ended with the same files and the same failure.'
const MINUTE_MS = 60_000
const MAX_JOURNAL_TEXT = 8_000
