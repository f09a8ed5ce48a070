import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { ensureChiralityFolder } from '@chirality/runner'
import type { SessionHost } from '@chirality/sessions'
import { checkBase, findRepository, gitStatus, mergeIntoBase } from '@chirality/workspaces'
import { noFleet } from './away-turn.ts'
import { allCommandsOf, corrections } from './commands.ts'
import { isNodeError, readIfThere, replaceFile } from './files.ts'
import {
  Journal,
  type JournalEntry,
  type LoopEndReason,
  type LoopRunner,
  readJournal,
  type Stamped,
} from './journal.ts'
import { Loop } from './loop.ts'
import { isReverting, LoopBranch } from './loop-branch.ts'
import type { AwayTurns } from './loop-context.ts'
import { loopError } from './loop-error.ts'
import type { LoopSettings } from './loop-settings.ts'
import { applyEntry, foldJournal, type LoopState, type TaskState } from './loop-state.ts'
import { oldLoops, removeLoopFolder, takeStartBack } from './old-loops.ts'
import { LOOP_ID, ownLoopIds, readOwnLoop, removeOwnLoop, writeOwnLoop } from './own-loop.ts'
import { reportText } from './report.ts'
import { parseTaskList, slugOf, type Task, type TaskList } from './task-list.ts'
import { TaskTree } from './task-tree.ts'

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
  onEntry?: (entry: Stamped) => void
}

export interface ResumeOptions extends Omit<StartOptions, 'allowDirty' | 'loopId' | 'check' | 'allowed'> {
  /** A parked or failed task to put back, and words for its agent. */
  again?: { task: string; note: string }
  /** Commands that it may run from now on, besides those that were allowed before. */
  allow?: readonly string[]
}

/** The loops of a project. */
export class LoopBook {
  readonly #projectRoot: string
  readonly #kept = new Map<string, { size: number; mtimeMs: number; state: LoopState }>()

  constructor(projectRoot: string) {
    this.#projectRoot = realpathSync(projectRoot)
  }

  /** A loop that is not running yet. Throws what is wrong with the list or the project, and has then changed nothing. */
  async start(host: SessionHost, listFile: string, options: StartOptions = {}): Promise<Loop> {
    const list = realList(listFile)
    const parsed = parseTaskList(readIfThere(list) ?? '', path.basename(list))
    const { settings: written, tasks } = parsed
    await options.check?.(parsed)
    if (options.away === undefined && tasks.some(({ where }) => where !== undefined)) throw noFleet()
    const settings = { ...written, ...options.settings }
    const base = await checkBase(this.#projectRoot)
    if (!options.allowDirty) await this.#requireClean(list)
    const open = this.openOn(host, list)
    if (open !== undefined)
      throw loopError(
        'loop-running',
        `The loop ${open.loopId} on this list is not over. Go on with it: chirality loop resume ${open.loopId}`,
      )
    await host.openProject(this.#projectRoot)
    const loopId = options.loopId ?? newLoopId(list)
    const allowed = [...(options.allowed ?? allCommandsOf(parsed))]
    // Before its journal: one that is there and not this user's could be neither gone on with nor replaced.
    writeOwnLoop(host.home, loopId, { project: this.#projectRoot, allowed })
    let folder: string | undefined
    try {
      folder = await ensureChiralityFolder(this.#projectRoot, 'loops', loopId)
      this.#addTo(folder, {
        ...{ type: 'loop:start', loopId, list, projectRoot: this.#projectRoot, base: base.commit },
        ...{ baseBranch: base.branch, worktreeId: `loop-${loopId}`, settings, by: options.by ?? 'command' },
        allowed,
      })
      try {
        this.forgetOld(host)
      } catch (error) {
        host.logFault(error)
      }
      return this.#open(host, loopId, options)
    } catch (error) {
      takeStartBack(host, loopId, folder)
      throw error
    }
  }

  /**
   * Removes the folders of old loops with which nothing can be done any more: see `oldLoops`. Also the records of loops
   * whose process was killed before they had a journal.
   */
  forgetOld(host: Pick<SessionHost, 'home'>, keep?: number): void {
    for (const { loopId } of oldLoops(this.list(), keep)) {
      if (!this.isOwn(host, loopId)) continue
      removeLoopFolder(this.folder(loopId))
      removeOwnLoop(host.home, loopId)
      this.#kept.delete(loopId)
    }
    for (const loopId of ownLoopIds(host.home))
      if (this.isOwn(host, loopId) && !existsSync(path.join(this.folder(loopId), 'journal.ndjson')))
        removeOwnLoop(host.home, loopId)
  }

  /** The loop on a list that can be gone on with: one that came with the project cannot. */
  openOn(host: Pick<SessionHost, 'home'>, list: string): LoopState | undefined {
    return this.list().find(loop => loop.list === list && !isOver(loop) && this.isOwn(host, loop.loopId))
  }

  /** Whether this user started the loop in this folder, and not another one whose clone it is. */
  isOwn({ home }: Pick<SessionHost, 'home'>, loopId: string): boolean {
    return readOwnLoop(home, loopId)?.project === this.#projectRoot
  }

  /** The loop as it was left: by a limit, by a stop, by a crash. */
  async resume(host: SessionHost, id: string, options: ResumeOptions = {}): Promise<Loop> {
    const state = this.get(id)
    const { again, allow } = options
    if (!this.isOwn(host, state.loopId))
      throw loopError(
        'loop-refused',
        `You did not start the loop ${state.loopId} in this folder, or your data folder ${host.home} has no record of it any more: its files may have come with the project, and name commands. Start one on the list ${state.list} instead.`,
      )
    if (again !== undefined) requireAgain(state, again.task)
    await host.openProject(this.#projectRoot)
    const loop = this.#open(host, state.loopId, {
      ...options,
      settings: { ...state.settings, ...options.settings },
    })
    loop.allow(allow ?? [])
    if (again !== undefined) loop.again(again.task, again.note)
    return loop
  }

  /** Asks the process that runs it to stop. */
  requestStop(id: string): LoopState {
    const state = this.get(id)
    replaceFile(path.join(this.folder(state.loopId), 'stop'), '')
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
    const state = this.get(id)
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
      ...{
        branch,
        base: baseBranch,
        commit,
        how: 'merge',
        mayDiffer: [inRepository(repository.top, state.list)],
      },
      message: `Merge ${branch}\n\n${titles}`,
    })
    if (merge.kind === 'conflicts')
      throw loopError(
        'loop-refused',
        `${baseBranch} changed ${merge.files.join(', ')}, too. Nothing was merged. Merge ${branch} with git, or run these tasks again.`,
      )
    const made = merge.kind === 'merged' ? merge.commit : await tree.commitOf(`refs/heads/${baseBranch}`)
    const accepted = tasks.map(one => one.task.id)
    this.#add(state, { type: 'loop:accepted', tasks: accepted, into: baseBranch, commit: made })
    return { commit: made, tasks }
  }

  /** Takes the change of a task back from the loop's branch, and its tick from the list. */
  async revert(host: SessionHost, id: string, taskId: string): Promise<void> {
    const state = this.get(id)
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
  }

  /** Notes a revert that a killed process made and did not write down: whether there was one. For a loop that does not run. */
  async settle(host: SessionHost, state: LoopState): Promise<boolean> {
    const { entries } = state
    if ([...state.tasks.values()].some(isReverting))
      await (await LoopBranch.open(host, state)).settle(entry => this.#add(state, entry))
    return state.entries > entries
  }

  /** A fact about a loop that does not run. */
  #add(state: LoopState, entry: JournalEntry): void {
    for (const stamped of this.#addTo(this.folder(state.loopId), entry)) applyEntry(state, stamped)
    replaceFile(path.join(this.folder(state.loopId), 'report.md'), this.report(state))
  }

  #addTo(folder: string, entry: JournalEntry): Stamped[] {
    const journal = new Journal(folder)
    try {
      return journal.add(entry)
    } finally {
      journal.close()
    }
  }

  list(): LoopState[] {
    let names: string[]
    try {
      names = readdirSync(path.join(this.#projectRoot, '.chirality', 'loops'))
    } catch (error) {
      if (isNodeError(error, 'ENOENT')) return []
      throw error
    }
    const states = names.flatMap(name => this.find(name) ?? [])
    return states.sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
  }

  /** By its whole id. Its journal is read again only if it has changed. */
  find(loopId: string): LoopState | undefined {
    const file = statSync(path.join(this.folder(loopId), 'journal.ndjson'), { throwIfNoEntry: false })
    if (!LOOP_ID.test(loopId) || file === undefined) return undefined
    const kept = this.#kept.get(loopId)
    if (kept?.size === file.size && kept.mtimeMs === file.mtimeMs) return kept.state
    const state = this.#read(loopId)
    if (state === undefined) return undefined
    this.#kept.set(loopId, { size: file.size, mtimeMs: file.mtimeMs, state })
    return state
  }

  #read(loopId: string): LoopState | undefined {
    const state = foldJournal(readJournal(this.folder(loopId)).entries)
    return state?.loopId === loopId && state.projectRoot === this.#projectRoot ? state : undefined
  }

  /** By its id or the beginning of it; the newest without one. */
  get(id?: string): LoopState {
    const all = this.list()
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
  tasks({ list }: LoopState): Task[] | undefined {
    try {
      return parseTaskList(readIfThere(list) ?? '', path.basename(list)).tasks
    } catch {
      return undefined
    }
  }

  /** Says that a loop, which does not run, is over. */
  end(state: LoopState, reason: LoopEndReason, why: string): void {
    this.#add(state, { type: 'loop:end', reason, why })
  }

  report(state: LoopState): string {
    return reportText(state, this.tasks(state), this.folder(state.loopId))
  }

  folder(loopId: string): string {
    return path.join(this.#projectRoot, '.chirality', 'loops', loopId)
  }

  #open(host: SessionHost, loopId: string, options: ResumeOptions): Loop {
    const folder = this.folder(loopId)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // Of its own: it is changed in place while the loop runs.
    const state = this.#read(loopId) ?? this.get(loopId)
    const { until, onEntry, settings, by, away } = options
    const loop = new Loop({
      ...{ host, folder, state },
      ...(settings === undefined ? {} : { settings: { ...state.settings, ...settings } }),
      ...(until === undefined ? {} : { until }),
      ...(onEntry === undefined ? {} : { onEntry }),
      ...(by === undefined ? {} : { by }),
      ...(away === undefined ? {} : { away }),
    })
    loop.record(...corrections(state, readOwnLoop(host.home, loopId) ?? { allowed: [] }))
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

/** Of a loop on this list. */
export function newLoopId(list: string): string {
  const name = path.basename(list, path.extname(list))
  return `${slugOf(name).slice(0, 24)}-${randomBytes(3).toString('hex')}`
}

/** Nothing of it can go on by itself. */
export function isOver({ end, tasks }: LoopState): boolean {
  if (end?.reason === 'done') return true
  return end?.reason === 'blocked' && ![...tasks.values()].some(({ status }) => status === 'working')
}

/** Throws unless it is a task that a person may put back. */
export function requireAgain(state: LoopState, id: string): void {
  const { status } = state.tasks.get(id) ?? {}
  if (status === 'parked' || status === 'failed' || status === 'reverted') return
  throw loopError('loop-refused', `${id} is no parked, failed or reverted task of the loop ${state.loopId}.`)
}

function requireMerged(state: LoopState, id: string): TaskState {
  const task = state.tasks.get(id)
  if (task?.status === 'merged') return task
  throw loopError('loop-refused', `${id} is no proved task of the loop ${state.loopId}.`)
}

function inRepository(top: string, file: string): string {
  return path.relative(top, file).split(path.sep).join('/')
}

function realList(file: string): string {
  try {
    return realpathSync(file)
  } catch (error) {
    throw loopError('bad-list', `There is no task list ${file}.`, error)
  }
}
