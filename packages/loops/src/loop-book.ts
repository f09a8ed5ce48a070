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

export interface StartOptions {
  /** In the place of what the front matter says. */
  settings?: Partial<LoopSettings>
  /** Start although the project has changes that are not committed: the agents do not see them. */
  allowDirty?: boolean
  until?: Date
  by?: LoopRunner
  /** The machines of the fleet, for tasks with the key `where`. */
  away?: AwayTurns
  /** Of the caller's, by which it finds the loop again after a crash. */
  loopId?: string
  /** The commands that a person allowed. Without it, those that the list names now: whoever starts it allows them. */
  allowed?: readonly string[]
  /** Called with the list as the loop starts with it. Nothing is started if it throws. */
  check?: (list: TaskList) => Promise<void>
  onEntry?: (entry: Stamped, n: number) => void
}

export interface ResumeOptions extends Omit<StartOptions, 'allowDirty' | 'loopId' | 'check' | 'allowed'> {
  /** A parked or failed task to put back, and words for its agent. */
  again?: { task: string; note: string }
  /** Commands that it may run from now on, besides those that were allowed before. */
  allow?: readonly string[]
  /** A person goes on with what can still be believed of a loop whose files somebody changed. */
  asFound?: boolean
}

/** The loops of a project. */
export class LoopBook {
  readonly #store: LoopStore

  /** `home`: the user's data folder. `onFault`: told why the folder of the loops in the project is not read. */
  constructor(projectRoot: string, home: string, onFault: (error: Error) => void = () => {}) {
    this.#store = new LoopStore(projectRoot, home, onFault)
  }

  get #projectRoot(): string {
    return this.#store.projectRoot
  }

  /** A loop that is not running yet. Throws what is wrong with the list or the project, and has then changed nothing. */
  async start(host: SessionHost, listFile: string, options: StartOptions = {}): Promise<Loop> {
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
    // Before its journal: one that is there and not this user's could be neither gone on with nor replaced.
    writeOwnLoop(host.home, loopId, { project: this.#projectRoot, allowed })
    let copy: string | undefined
    try {
      copy = await ensureChiralityFolder(this.#projectRoot, 'loops', loopId)
      writeFileNow(path.join(this.folder(loopId), 'list.md'), text)
      const journal = this.#store.journal(loopId)
      journal.add({
        ...{ type: 'loop:start', loopId, list, projectRoot: this.#projectRoot, base: base.commit },
        ...{ baseBranch: base.branch, worktreeId: `loop-${loopId}`, settings, by: options.by ?? 'command' },
        ...{
          allowed,
          ticked: tasks.filter(({ ticked }) => ticked).map(({ id }) => id),
          listHash: sha256(text),
        },
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
   * Removes the folders of old loops with which nothing can be done any more: see `oldLoops`. Also the records of loops
   * whose process was killed before they had a journal.
   */
  async forgetOld(host: Pick<SessionHost, 'home'>, keep?: number): Promise<void> {
    const own = (await this.list()).filter(({ isForeign, broken }) => !isForeign && broken.length === 0)
    for (const { loopId } of oldLoops(own, keep)) {
      // First: what has no original is taken for something that came with the project.
      this.#store.copy(loopId).remove()
      removeOwnLoop(host.home, loopId)
      this.#store.forget(loopId)
    }
    for (const loopId of ownLoopIds(host.home))
      if (this.isOwn(loopId) && (await this.find(loopId)) === undefined) removeOwnLoop(host.home, loopId)
  }

  /** The loop on a list that can be gone on with: one that came with the project cannot. */
  async openOn(list: string): Promise<LoopState | undefined> {
    const all = (await this.list()).filter(loop => loop.list === list && isWhole(loop))
    return all.find(loop => !isOver(loop))
  }

  /** Whether this user started the loop in this folder, and not another one whose clone it is. */
  isOwn(loopId: string): boolean {
    return this.#store.isOwn(loopId)
  }

  /** The loop as it was left: by a limit, by a stop, by a crash. */
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

  /** Asks the process that runs it to stop. */
  async requestStop(id: string): Promise<LoopState> {
    const state = await this.get(id)
    writeFileNow(path.join(this.folder(state.loopId), 'stop'), '')
    return state
  }

  /**
   * Merges the loop's branch into the one that it began at: all of it, or up to a task. Whoever runs the loop must not
   * run it now.
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
      throw loopError('loop-refused', `Nothing is proved in this loop that ${baseBranch} does not have.`)
    const titles = tasks.map(({ task: { title } }) => `- ${title}`).join('\n')
    const merge = await mergeIntoBase(repository, {
      ...{ branch, base: baseBranch, commit, how: 'merge' },
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

  /** Takes the change of a task back from the loop's branch, and its tick from the list. */
  async revert(host: SessionHost, id: string, taskId: string): Promise<void> {
    const state = await this.get(id)
    requireReadable(state)
    await this.settle(host, state)
    const task = requireMerged(state, taskId)
    const { baseBranch, projectRoot } = state
    const into = task.accepted?.into ?? baseBranch
    const { merged = '' } = task
    // A person may have merged it with git, or a process was killed before it said so.
    const isIn =
      into !== null && (await (await TaskTree.open(projectRoot)).isIn(merged, `refs/heads/${into}`))
    if (task.accepted !== undefined || isIn)
      throw loopError(
        'loop-refused',
        `It is in ${into} already. Take it back there: git revert -m 1 ${merged.slice(0, 10)}`,
      )
    if (task.task.expect === 'none')
      throw loopError('loop-refused', 'It changed no file: there is nothing to revert.')
    await (await LoopBranch.open(host, state)).revert(task, entry => this.#add(state, entry))
    await this.#writeReport(state)
  }

  /** Notes a revert that a killed process made and did not write down: whether there was one. For a loop that does not run. */
  async settle(host: SessionHost, state: LoopState): Promise<boolean> {
    const { entries } = state
    if ([...state.tasks.values()].some(isReverting))
      await (await LoopBranch.open(host, state)).settle(entry => this.#add(state, entry))
    if (state.entries > entries) await this.#writeReport(state)
    return state.entries > entries
  }

  /** A fact about a loop that does not run. */
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

  /** Newest first. A loop whose files cannot be read or believed is among them, and says so. */
  list(): Promise<LoopState[]> {
    return this.#store.list()
  }

  /** By its whole id. */
  find(loopId: string): Promise<LoopState | undefined> {
    return this.#store.find(loopId)
  }

  /** All that its journal has. */
  async entries(loopId: string): Promise<Stamped[]> {
    return (await this.#store.read(loopId))?.journal?.entries ?? []
  }

  /** By its id or the beginning of it; the newest without one. */
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

  /** The tasks of its list as it is now. Undefined if it is gone or cannot be read. */
  async tasks({ list }: LoopState): Promise<Task[] | undefined> {
    try {
      return parseTaskList((await readNamedFile(list)) ?? '', path.basename(list)).tasks
    } catch {
      return undefined
    }
  }

  /** Says that a loop, which does not run, is over. */
  async end(state: LoopState, reason: LoopEndReason, why: string): Promise<void> {
    await this.#add(state, { type: 'loop:end', reason, why })
    await this.#writeReport(state)
  }

  async report(state: LoopState): Promise<string> {
    const warnings = await this.warnings(state)
    return reportText(state, { tasks: await this.tasks(state), warnings })
  }

  /** What a person has to know before anything else that a loop says. */
  async warnings(state: LoopState): Promise<string[]> {
    // The copy of one that is not over is being written.
    if (state.isForeign || state.end === undefined) return warningsOf(state)
    return warningsOf(state, await this.#store.copyDifferences(state.loopId))
  }

  /** In the user's data folder. */
  folder(loopId: string): string {
    return this.#store.folder(loopId)
  }

  /** In the project, for people. */
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
      // What it allowed is not known any more: each command is asked for again.
      if (own === undefined || own.isAltered)
        writeOwnLoop(host.home, loopId, { project: this.#projectRoot, allowed: [] })
    }
    const { until, onEntry, settings, by, away } = options
    const journal = this.#store.journal(loopId, read?.journal)
    const loop = new Loop({
      ...{ host, state, journal, store: this.#store },
      ...(settings === undefined ? {} : { settings: { ...state.settings, ...settings } }),
      ...(until === undefined ? {} : { until }),
      ...(onEntry === undefined ? {} : { onEntry }),
      ...(by === undefined ? {} : { by }),
      ...(away === undefined ? {} : { away }),
    })
    loop.record(...corrections(state, own ?? { allowed: [] }))
    return loop
  }

  /** Files of the project that are not committed, but for the list. */
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
