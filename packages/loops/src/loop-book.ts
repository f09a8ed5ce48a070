import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { ensureChiralityFolder } from '@chirality/runner'
import type { SessionHost } from '@chirality/sessions'
import { checkBase, gitStatus } from '@chirality/workspaces'
import { isNodeError, readIfThere, replaceFile } from './files.ts'
import { Journal, readJournal, type Stamped } from './journal.ts'
import { Loop } from './loop.ts'
import { loopError } from './loop-error.ts'
import type { LoopSettings } from './loop-settings.ts'
import { foldJournal, type LoopState } from './loop-state.ts'
import { reportText } from './report.ts'
import { parseTaskList, slugOf, type Task } from './task-list.ts'

export interface StartOptions {
  /** In the place of what the front matter says. */
  settings?: Partial<LoopSettings>
  /** Start although the project has changes that are not committed: the agents do not see them. */
  allowDirty?: boolean
  until?: Date
  onEntry?: (entry: Stamped) => void
}

export interface ResumeOptions extends Omit<StartOptions, 'allowDirty'> {
  /** A parked or failed task to put back, and words for its agent. */
  again?: { task: string; note: string }
}

/** The loops of a project. */
export class LoopBook {
  readonly #projectRoot: string

  constructor(projectRoot: string) {
    this.#projectRoot = realpathSync(projectRoot)
  }

  /** A loop that is not running yet. Throws what is wrong with the list or the project, and has then changed nothing. */
  async start(host: SessionHost, listFile: string, options: StartOptions = {}): Promise<Loop> {
    const list = realList(listFile)
    const { settings: written } = parseTaskList(readIfThere(list) ?? '', path.basename(list))
    const settings = { ...written, ...options.settings }
    const base = await checkBase(this.#projectRoot)
    if (!options.allowDirty) await this.#requireClean(list)
    const open = this.list().find(loop => loop.list === list && !isOver(loop))
    if (open !== undefined)
      throw loopError(
        'loop-running',
        `The loop ${open.loopId} on this list is not over. Go on with it: chirality loop resume ${open.loopId}`,
      )
    await host.openProject(this.#projectRoot)
    const loopId = `${slugOf(path.basename(list, path.extname(list))).slice(0, 24)}-${randomBytes(3).toString('hex')}`
    const folder = await ensureChiralityFolder(this.#projectRoot, 'loops', loopId)
    const journal = new Journal(folder)
    journal.add({
      ...{ type: 'loop:start', loopId, list, projectRoot: this.#projectRoot, base: base.commit },
      ...{ baseBranch: base.branch, worktreeId: `loop-${loopId}`, settings },
    })
    journal.close()
    return this.#open(host, loopId, options)
  }

  /** The loop as it was left: by a limit, by a stop, by a crash. */
  async resume(host: SessionHost, id: string, options: ResumeOptions = {}): Promise<Loop> {
    const state = this.get(id)
    const { again } = options
    if (again !== undefined) {
      const task = state.tasks.get(again.task)
      if (task?.status !== 'parked' && task?.status !== 'failed')
        throw loopError(
          'loop-refused',
          `${again.task} is no parked or failed task of the loop ${state.loopId}.`,
        )
    }
    await host.openProject(this.#projectRoot)
    const loop = this.#open(host, state.loopId, {
      ...options,
      settings: { ...state.settings, ...options.settings },
    })
    if (again !== undefined) loop.record({ type: 'task:again', ...again })
    return loop
  }

  /** Asks the process that runs it to stop. */
  requestStop(id: string): LoopState {
    const state = this.get(id)
    replaceFile(path.join(this.folder(state.loopId), 'stop'), '')
    return state
  }

  list(): LoopState[] {
    let names: string[]
    try {
      names = readdirSync(path.join(this.#projectRoot, '.chirality', 'loops'))
    } catch (error) {
      if (isNodeError(error, 'ENOENT')) return []
      throw error
    }
    const states = names.flatMap(name => foldJournal(readJournal(this.folder(name)).entries) ?? [])
    return states.sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
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

  report(state: LoopState): string {
    return reportText(state, this.tasks(state), this.folder(state.loopId))
  }

  folder(loopId: string): string {
    return path.join(this.#projectRoot, '.chirality', 'loops', loopId)
  }

  #open(host: SessionHost, loopId: string, options: ResumeOptions): Loop {
    const folder = this.folder(loopId)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const state = this.get(loopId)
    const { until, onEntry, settings } = options
    return new Loop({
      ...{ host, folder, state },
      ...(settings === undefined ? {} : { settings: { ...state.settings, ...settings } }),
      ...(until === undefined ? {} : { until }),
      ...(onEntry === undefined ? {} : { onEntry }),
    })
  }

  async #requireClean(list: string): Promise<void> {
    const status = await gitStatus(this.#projectRoot)
    const changed = (status?.files ?? []).filter(file => path.join(this.#projectRoot, file.path) !== list)
    if (changed.length === 0) return
    const names = changed.slice(0, 3).map(file => file.path)
    throw loopError(
      'loop-refused',
      `${changed.length} files are not committed (${names.join(', ')}${changed.length > 3 ? ', …' : ''}), and agents work from the last commit. Commit or stash them, or give --allow-dirty.`,
    )
  }
}

/** Nothing of it can go on by itself. */
export function isOver({ end, tasks }: LoopState): boolean {
  if (end?.reason === 'done') return true
  return end?.reason === 'blocked' && ![...tasks.values()].some(({ status }) => status === 'working')
}

function realList(file: string): string {
  try {
    return realpathSync(file)
  } catch (error) {
    throw loopError('bad-list', `There is no task list ${file}.`, error)
  }
}
