import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { roundUsd } from '@chirality/core'
import { listCarefully, TEMPORARY_NAME, writeFileNow } from '@chirality/disk'
import type { SessionHost } from '@chirality/sessions'
import { readIfThere, readLoopFile } from './files.ts'
import type { JournalEntry } from './journal.ts'
import type { LoopContext } from './loop-context.ts'
import type { LoopState } from './loop-state.ts'
import { type LoopStore, RUN_FILE } from './loop-store.ts'
import { readSeal, sha256 } from './machine-key.ts'
import { readOwnLoop, writeOwnLoop } from './own-loop.ts'
import { spentOf } from './spent.ts'
import { TaskTree } from './task-tree.ts'

/** The files of a loop beside its journal while this process runs it, with their copy in the project. */
export class LoopKeeper {
  readonly folder: string
  readonly #store: LoopStore
  readonly #state: LoopState
  /** The list at the start of the loop. Undefined if it is gone. */
  readonly begun: string | undefined

  constructor({ store, state }: { store: LoopStore; state: LoopState }) {
    this.folder = store.folder(state.loopId)
    this.#store = store
    this.#state = state
    const text = readIfThere(path.join(this.folder, 'list.md'))
    if (text !== undefined && sha256(text) === state.listHash) this.begun = text
  }

  /** Called before anything is written. */
  open(): void {
    for (const name of ['prompts', 'outputs', 'receipts'])
      mkdirSync(path.join(this.folder, name), { recursive: true, mode: 0o700 })
    writeFileNow(path.join(this.folder, RUN_FILE), String(process.pid))
  }

  /** Called after everything is written. */
  close(): void {
    rmSync(path.join(this.folder, RUN_FILE), { force: true })
  }

  put(text: string, ...parts: string[]): void {
    const file = path.join(this.folder, ...parts)
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    writeFileNow(file, text)
    this.#store.copy(this.#state.loopId).put(text, ...parts)
  }

  /** Restores the copy in the project, and reports what somebody changed in it. */
  async compareCopy({ afterKill = false }: { afterKill?: boolean }): Promise<JournalEntry[]> {
    const copy = this.#store.copy(this.#state.loopId)
    const files = await copy.differences(this.folder, { afterKill })
    if (files.length > 0 || afterKill) await copy.restore(this.folder)
    return files.length === 0 ? [] : [{ type: 'copy:altered', files }]
  }

  /** Reports if the loop's branch has lost a merged commit. */
  async compareBranch({ worktrees }: Pick<SessionHost, 'worktrees'>): Promise<JournalEntry[]> {
    const { head, base, worktreeId, projectRoot, branchLost } = this.#state
    if (head === base || branchLost === head) return []
    const { branch = null } = (await worktrees.find(worktreeId)) ?? {}
    const tree = await TaskTree.open(projectRoot)
    const isThere = branch !== null && (await tree.isIn(head, `refs/heads/${branch}`))
    return isThere ? [] : [{ type: 'branch:altered', commit: head }]
  }

  /**
   * Reports changes of the files beside the journal by somebody else. Files whose contents are known are written anew.
   */
  async ownFilesAltered(): Promise<string[]> {
    const { loopId, projectRoot: project, allowed, tasks, listHash } = this.#state
    const { home } = this.#store
    const seal = this.#store.requireSeal()
    const found: string[] = []
    if (readSeal(home)?.id !== seal.id) {
      found.push('the key of this machine was changed or removed')
      seal.writeTo(home)
    }
    const own = readOwnLoop(home, loopId, seal)
    if (own?.project !== project || own.isAltered || own.allowed.some(command => !allowed.has(command))) {
      found.push('own.json, which says what it may run, was changed or removed')
      writeOwnLoop(home, loopId, { project, allowed: [...allowed] }, seal)
    }
    const isSame = async (hash: string | undefined, ...parts: string[]) => {
      const text = hash === undefined ? undefined : await readLoopFile(this.folder, ...parts)
      return hash === undefined || (text !== undefined && sha256(text) === hash)
    }
    if (!(await isSame(listHash, 'list.md'))) {
      found.push('list.md, the list as it began, was changed or removed')
      if (this.begun !== undefined) writeFileNow(path.join(this.folder, 'list.md'), this.begun)
    }
    for (const { task, status, receipt } of tasks.values())
      if (status === 'merged' && !(await isSame(receipt, 'receipts', `${task.id}.json`)))
        found.push(`receipts/${task.id}.json was changed or removed`)
    return [...found, ...(await this.#addedReceipts())]
  }

  /** Removes added receipts of tasks that were not proved, and reports them. */
  async #addedReceipts(): Promise<string[]> {
    const files = await listCarefully({ root: this.folder, path: 'receipts', links: 'none' })
    if (files === undefined || 'fault' in files)
      return ['receipts, the folder of the receipts, was changed or removed']
    return files.entries.flatMap(({ name }) => {
      const task = this.#state.tasks.get(name.replace(/\.(json|md)$/, ''))
      if (task?.commit !== undefined || TEMPORARY_NAME.test(name)) return []
      rmSync(path.join(this.folder, 'receipts', name), { recursive: true, force: true })
      return [`receipts/${name} was added, and no such task is proved`]
    })
  }
}

/** Writes `budget.json` of the loop in the form of spec 001 §10. */
export function writeBudget({ state, put }: Pick<LoopContext, 'state' | 'put'>): void {
  const { max_iterations = null, budget_usd = null } = state.settings
  const { usd } = spentOf(state)
  const budget = {
    total_cost_usd: roundUsd(usd ?? 0),
    max_cost_usd: budget_usd,
    iterations: state.iterations,
    max_iterations,
  }
  put(`${JSON.stringify(budget, null, 2)}\n`, 'budget.json')
}

/** Writes `progress.md` for people; prompts of later tasks contain the same text. */
export function writeProgress({ state, put }: Pick<LoopContext, 'state' | 'put'>): void {
  put(`${progressText(state)}\n`, 'progress.md')
}

/** One line for each merged task. */
export function progressText(state: LoopState): string {
  const lines = [...state.tasks.values()].flatMap(({ status, task: { title }, commit }) =>
    status === 'merged' ? [`- ${title} (${commit?.slice(0, 10)})`] : [],
  )
  return lines.slice(-MAX_PROGRESS).join('\n')
}

const MAX_PROGRESS = 200
