import path from 'node:path'
import { writeFileNow } from '@chirality/disk'
import { ensureChiralityFolder } from '@chirality/runner'
import type { SessionHost } from '@chirality/sessions'
import { checkBase, findRepository, gitStatus, mergeIntoBase } from '@chirality/workspaces'
import { noFleet } from './away-turn.ts'
import { allCommandsOf, corrections } from './commands.ts'
import { withBudget } from './default-budget.ts'
import { readNamedFile } from './files.ts'
import type { JournalEntry, LoopEndReason, LoopRunner, Stamped } from './journal.ts'
import { Loop } from './loop.ts'
import { isReverting, LoopBranch } from './loop-branch.ts'
import type { AwayTurns } from './loop-context.ts'
import { loopError } from './loop-error.ts'
import { isOver, isWhole, realList, requireAgain, requireHome, requireMerged } from './loop-rules.ts'
import type { LoopSettings } from './loop-settings.ts'
import { applyEntry, type LoopState, type TaskState } from './loop-state.ts'
import { LoopStore } from './loop-store.ts'
import { sha256 } from './machine-key.ts'
import { oldLoops, takeStartBack } from './old-loops.ts'
import { newLoopId, ownLoopIds, removeOwnLoop, writeOwnLoop } from './own-loop.ts'
import { reportText } from './report.ts'
import { parseTaskList, type Task, type TaskList } from './task-list.ts'
import { TaskTree } from './task-tree.ts'
import { requireReadable } from './unreadable-loop.ts'
import { warningsOf } from './warnings.ts'

export interface LoopStart {
  /** Overrides the settings of the front matter. */
  settings?: Partial<LoopSettings>
  /** Starts although the project has uncommitted changes, which the agents do not see. */
  allowDirty?: boolean
  until?: Date
  by?: LoopRunner
  /** The machines of the fleet, for tasks with the key `where`. */
  away?: AwayTurns
  /** Id chosen by the caller, to find the loop again after a crash. */
  loopId?: string
  /** Commands that a person allowed. Default: all commands of the list, which the caller allows by starting it. */
  allowed?: readonly string[]
  /** Called with the list before the start. If it throws, nothing is started. */
  check?: (list: TaskList) => Promise<void>
  onEntry?: (entry: Stamped, n: number) => void
}

export interface ResumeOptions extends Omit<LoopStart, 'allowDirty' | 'loopId' | 'check' | 'allowed'> {
  /** A parked or failed task to resume, and a note for its agent. */
  again?: { task: string; note: string }
  /** Commands that the loop may run in addition. */
  allow?: readonly string[]
  /** True if a person decides to continue with the trustworthy part of a loop whose files were changed. */
  asFound?: boolean
}

/** The loops of a project. */
export class LoopBook {
  readonly #store: LoopStore

  /** `home`: the user's data folder. `onFault`: receives the reason why the project's folder of loops is not read. */
  constructor(projectRoot: string, home: string, onFault: (error: Error) => void = () => {}) {
    this.#store = new LoopStore(projectRoot, home, onFault)
  }

  get #projectRoot(): string {
    return this.#store.projectRoot
  }

  /** Makes a loop that is not running yet. Throws if the list or the project is unusable, without changing anything. */
  async start(host: SessionHost, listFile: string, options: LoopStart = {}): Promise<Loop> {
    const list = realList(listFile)
    const text = (await readNamedFile(list)) ?? ''
    const parsed = parseTaskList(text, path.basename(list))
    const { settings: written, tasks } = parsed
    await options.check?.(parsed)
    if (options.away === undefined && tasks.some(({ where }) => where !== undefined)) throw noFleet()
    const settings = withBudget(host.home, written, options.settings)
    const base = await checkBase(this.#projectRoot)
    if (!options.allowDirty) await this.#requireClean(list)
    const open = await this.openOn(list)
    if (open !== undefined)
      throw loopError(
        'loop-running',
        `The loop ${open.loopId} on this list is not over. Go on with it: chirality loop resume ${open.loopId}`,
      )
    await host.openProject(this.#projectRoot)
    const loopId = options.loopId ?? newLoopId(list)
    const allowed = [...(options.allowed ?? allCommandsOf(parsed))]
    requireHome(host, this.#store)
    this.#store.requireSeal()
    // Written before the journal: a journal without this record could be neither resumed nor replaced.
    writeOwnLoop(host.home, loopId, { project: this.#projectRoot, allowed })
    let copy: string | undefined
    try {
      copy = await ensureChiralityFolder(this.#projectRoot, 'loops', loopId)
      writeFileNow(path.join(this.folder(loopId), 'list.md'), text)
      const journal = this.#store.journal(loopId)
      journal.add({
        type: 'loop:start',
        loopId,
        list,
        projectRoot: this.#projectRoot,
        base: base.commit,
        baseBranch: base.branch,
        worktreeId: `loop-${loopId}`,
        settings,
        by: options.by ?? 'command',
        allowed,
        ticked: tasks.filter(({ ticked }) => ticked).map(({ id }) => id),
        listHash: sha256(text),
      })
      journal.close()
      try {
        await this.forgetOld(host)
      } catch (error) {
        host.logFault(error)
      }
      return await this.#open(host, loopId, options)
    } catch (error) {
      takeStartBack(host, loopId, copy)
      throw error
    }
  }

  /**
   * Removes the folders of old finished loops, see `oldLoops`, and the records of loops whose process was killed before
   * they had a journal.
   */
  async forgetOld(host: Pick<SessionHost, 'home'>, keep?: number): Promise<void> {
    const own = (await this.list()).filter(({ isForeign, broken }) => !isForeign && broken.length === 0)
    for (const { loopId } of oldLoops(own, keep)) {
      // Removed first: a copy without its original counts as something that came with the project.
      this.#store.copy(loopId).remove()
      removeOwnLoop(host.home, loopId)
      this.#store.forget(loopId)
    }
    for (const loopId of ownLoopIds(host.home))
      if (this.isOwn(loopId) && (await this.find(loopId)) === undefined) removeOwnLoop(host.home, loopId)
  }

  /** The loop on a list that can be resumed; one that came with the project cannot. */
  async openOn(list: string): Promise<LoopState | undefined> {
    const all = (await this.list()).filter(loop => loop.list === list && isWhole(loop))
    return all.find(loop => !isOver(loop))
  }

  /** True if this user started the loop in this folder, and not in another clone. */
  isOwn(loopId: string): boolean {
    return this.#store.isOwn(loopId)
  }

  /** Resumes a loop after a limit, a stop or a crash. */
  async resume(host: SessionHost, id: string, options: ResumeOptions = {}): Promise<Loop> {
    const state = await this.get(id)
    const { again, allow, asFound } = options
    requireHome(host, this.#store)
    if (!asFound || state.isForeign || state.unreadable !== undefined) requireReadable(state)
    if (again !== undefined) requireAgain(state, again.task)
    await host.openProject(this.#projectRoot)
    const loop = await this.#open(host, state.loopId, {
      ...options,
      settings: { ...state.settings, ...options.settings },
    })
    loop.allow(allow ?? [])
    if (again !== undefined) loop.again(again.task, again.note)
    return loop
  }

  /** Asks the process that runs the loop to stop. */
  async requestStop(id: string): Promise<LoopState> {
    const state = await this.get(id)
    writeFileNow(path.join(this.folder(state.loopId), 'stop'), '')
    return state
  }

  /**
   * Merges the loop's branch into the branch that it started from, completely or up to a task. The loop must not be
   * running.
   */
  async accept(
    host: SessionHost,
    id: string,
    taskId?: string,
  ): Promise<{ commit: string; tasks: TaskState[] }> {
    const state = await this.get(id)
    requireReadable(state)
    await this.settle(host, state)
    const task = taskId === undefined ? undefined : requireMerged(state, taskId)
    const { baseBranch, projectRoot, worktreeId } = state
    const { branch } = await host.worktrees.get(worktreeId)
    const repository = await findRepository(projectRoot)
    if (baseBranch === null || repository === undefined)
      throw loopError(
        'loop-refused',
        `The loop began at a commit, not at a branch. Merge ${branch} with git.`,
      )
    const tree = await TaskTree.open(projectRoot)
    const commit = task?.merged ?? (await tree.commitOf(`refs/heads/${branch}`))
    const tasks: TaskState[] = []
    for (const one of state.tasks.values())
      if (one.status === 'merged' && one.accepted === undefined && one.merged !== undefined)
        if (await tree.isAncestor(one.merged, commit)) tasks.push(one)
    if (tasks.length === 0)
      throw loopError('loop-refused', `This loop has no proved task that ${baseBranch} lacks.`)
    const titles = tasks.map(({ task: { title } }) => `- ${title}`).join('\n')
    const merge = await mergeIntoBase(repository, {
      branch,
      base: baseBranch,
      commit,
      how: 'merge',
      message: `Merge ${branch}\n\n${titles}`,
    })
    if (merge.kind === 'conflicts')
      throw loopError(
        'loop-refused',
        `${baseBranch} changed ${merge.files.join(', ')}, too. Nothing was merged. Merge ${branch} with git, or run these tasks again.`,
      )
    const made = merge.kind === 'merged' ? merge.commit : await tree.commitOf(`refs/heads/${baseBranch}`)
    const accepted = tasks.map(one => one.task.id)
    await this.#add(state, { type: 'loop:accepted', tasks: accepted, into: baseBranch, commit: made })
    await this.#writeReport(state)
    return { commit: made, tasks }
  }

  /** Reverts the change of a task on the loop's branch, and removes its tick from the list. */
  async revert(host: SessionHost, id: string, taskId: string): Promise<void> {
    const state = await this.get(id)
    requireReadable(state)
    await this.settle(host, state)
    const task = requireMerged(state, taskId)
    const { baseBranch, projectRoot } = state
    const into = task.accepted?.into ?? baseBranch
    const { merged = '' } = task
    // A person may have merged it with git, or a process was killed before it recorded the merge.
    const isIn =
      into !== null && (await (await TaskTree.open(projectRoot)).isIn(merged, `refs/heads/${into}`))
    if (task.accepted !== undefined || isIn)
      throw loopError(
        'loop-refused',
        `The change is in ${into} already. Revert it there: git revert -m 1 ${merged.slice(0, 10)}`,
      )
    if (task.task.expect === 'none')
      throw loopError('loop-refused', 'The task changed no file: there is nothing to revert.')
    await (await LoopBranch.open(host, state)).revert(task, entry => this.#add(state, entry))
    await this.#writeReport(state)
  }

  /** Records a revert that a killed process made. True if there was one. Only for a loop that does not run. */
  async settle(host: SessionHost, state: LoopState): Promise<boolean> {
    const { entries } = state
    if ([...state.tasks.values()].some(isReverting))
      await (await LoopBranch.open(host, state)).settle(entry => this.#add(state, entry))
    if (state.entries > entries) await this.#writeReport(state)
    return state.entries > entries
  }

  /** Records a fact about a loop that does not run. */
  async #add(state: LoopState, entry: JournalEntry): Promise<void> {
    const read = await this.#store.read(state.loopId)
    if (read !== undefined) requireReadable(read.state)
    const journal = this.#store.journal(state.loopId, read?.journal)
    try {
      for (const stamped of journal.add(entry)) applyEntry(state, stamped)
    } finally {
      journal.close()
    }
  }

  async #writeReport(state: LoopState): Promise<void> {
    const text = await this.report(state)
    writeFileNow(path.join(this.folder(state.loopId), 'report.md'), text)
    this.#store.copy(state.loopId).put(text, 'report.md')
  }

  /** Newest first. Includes loops whose files cannot be read or trusted, with the reason. */
  list(): Promise<LoopState[]> {
    return this.#store.list()
  }

  /** Finds a loop by its whole id. */
  find(loopId: string): Promise<LoopState | undefined> {
    return this.#store.find(loopId)
  }

  /** All entries of the loop's journal. */
  async entries(loopId: string): Promise<Stamped[]> {
    return (await this.#store.read(loopId))?.journal?.entries ?? []
  }

  /** Finds a loop by id or id prefix. Without an id, returns the newest. */
  async get(id?: string): Promise<LoopState> {
    const all = await this.list()
    const found = id === undefined ? all.slice(0, 1) : all.filter(({ loopId }) => loopId.startsWith(id))
    const [only] = found
    const exact = all.find(({ loopId }) => loopId === id)
    if (exact !== undefined) return exact
    if (only === undefined)
      throw loopError(
        'loop-missing',
        id === undefined ? 'This project has no loop.' : `There is no loop ${id}.`,
      )
    if (found.length > 1)
      throw loopError('loop-missing', `${id} is the beginning of ${found.length} loops. Write more of it.`)
    return only
  }

  /** Current tasks of the loop's list. Undefined if it is gone or unreadable. */
  async tasks({ list }: LoopState): Promise<Task[] | undefined> {
    try {
      return parseTaskList((await readNamedFile(list)) ?? '', path.basename(list)).tasks
    } catch {
      return undefined
    }
  }

  /** Records the end of a loop that does not run. */
  async end(state: LoopState, reason: LoopEndReason, why: string): Promise<void> {
    await this.#add(state, { type: 'loop:end', reason, why })
    await this.#writeReport(state)
  }

  async report(state: LoopState): Promise<string> {
    const warnings = await this.warnings(state)
    return reportText(state, { tasks: await this.tasks(state), warnings })
  }

  /** Warnings that a person has to read before the rest of a report. */
  async warnings(state: LoopState): Promise<string[]> {
    // The copy of an unfinished loop is still being written.
    if (state.isForeign || state.end === undefined) return warningsOf(state)
    return warningsOf(state, await this.#store.copyDifferences(state.loopId))
  }

  /** The loop's folder in the user's data folder. */
  folder(loopId: string): string {
    return this.#store.folder(loopId)
  }

  /** The copy in the project, for people. */
  copyFolder(loopId: string): string {
    return this.#store.copy(loopId).folder
  }

  async #open(host: SessionHost, loopId: string, options: ResumeOptions): Promise<Loop> {
    const read = await this.#store.read(loopId)
    const state = read?.state ?? (await this.get(loopId))
    const own = this.#store.own(loopId)
    if (options.asFound) {
      delete state.end
      state.broken = []
      // The allowed commands are unknown now, so each one is asked for again.
      if (own === undefined || own.isAltered)
        writeOwnLoop(host.home, loopId, { project: this.#projectRoot, allowed: [] })
    }
    const { until, onEntry, settings, by, away } = options
    const journal = this.#store.journal(loopId, read?.journal)
    const loop = new Loop({
      host,
      state,
      journal,
      store: this.#store,
      settings: settings && { ...state.settings, ...settings },
      until,
      onEntry,
      by,
      away,
    })
    loop.record(...corrections(state, own ?? { allowed: [] }))
    return loop
  }

  /** Uncommitted files of the project, without the list. */
  async uncommitted(list: string): Promise<string[]> {
    const status = await gitStatus(this.#projectRoot)
    const files = (status?.files ?? []).map(file => file.path)
    return files.filter(file => path.join(this.#projectRoot, file) !== list)
  }

  async #requireClean(list: string): Promise<void> {
    const changed = await this.uncommitted(list)
    if (changed.length === 0) return
    const names = changed.slice(0, 3)
    throw loopError(
      'loop-refused',
      `${changed.length} files are not committed (${names.join(', ')}${changed.length > 3 ? ', …' : ''}), and agents work from the last commit. Commit or stash them, or give --allow-dirty.`,
    )
  }
}
