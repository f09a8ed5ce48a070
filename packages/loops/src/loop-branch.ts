import path from 'node:path'
import type { SessionHost } from '@chirality/sessions'
import { readNamedFile, replaceUserFile } from './files.ts'
import type { JournalEntry } from './journal.ts'
import { loopError } from './loop-error.ts'
import type { LoopState, TaskState } from './loop-state.ts'
import { loopFolder } from './own-loop.ts'
import { untickTask } from './task-list.ts'
import { TaskTree } from './task-tree.ts'

type Add = (entry: JournalEntry) => void | Promise<void>

/**
 * The loop's branch in the worktree where proved tasks are merged. A person may commit on it too: no step removes a
 * commit that the loop did not make, and uncommitted files are kept by a ref.
 */
export class LoopBranch {
  readonly tree: TaskTree
  readonly #state: LoopState
  /** Folder for the temporary file of a write to the list. */
  readonly #folder: string

  private constructor(tree: TaskTree, state: LoopState, home: string) {
    this.tree = tree
    this.#state = state
    this.#folder = loopFolder(home, state.loopId)
  }

  static async open(
    { worktrees, home }: Pick<SessionHost, 'worktrees' | 'home'>,
    state: LoopState,
  ): Promise<LoopBranch> {
    await worktrees.require(state.worktreeId)
    const { folder, prefix } = await worktrees.get(state.worktreeId)
    return new LoopBranch(await TaskTree.open(path.join(folder, prefix), state.worktreeId), state, home)
  }

  /** Undoes a merge that a killed process started, so that its task repeats it, and records a revert that it made. */
  async settle(add: Add): Promise<void> {
    await TaskTree.gitHasEnded(this.#state.worktreeId)
    for (const task of this.#state.tasks.values()) {
      if (task.stage.at === 'merging') await this.#undoCutOff(task.stage, add)
      if (isReverting(task)) await this.#noteRevert(task, add)
    }
  }

  async #undoCutOff({ commit, onto }: { commit: string; onto: string }, add: Add): Promise<void> {
    const merge = await this.tree.mergeOf(commit, onto)
    const head = await this.tree.head()
    // Changes made only by the merge belong to no person.
    if (merge === undefined) await this.tree.abortMerge()
    if (head === (merge ?? onto)) await this.#resetTo(onto, add)
  }

  async #noteRevert(task: TaskState, add: Add): Promise<void> {
    const { reverting: onto = '', merged = '' } = task
    if ((await this.tree.head()) === onto) return this.tree.abortRevert()
    const commit = await this.tree.revertOf(merged, onto)
    if (commit !== undefined) await this.#reverted(task, commit, add)
  }

  /** Merges a commit. Returns the merge, or the conflicting files with nothing changed. */
  async merge(
    commit: string,
    message: string,
    onto: string,
  ): Promise<{ merged: true; merge: string } | { merged: false; files: string[] }> {
    const result = await this.tree.merge(commit, message)
    if (!result.merged) return result
    return { merged: true, merge: (await this.tree.mergeOf(commit, onto)) ?? (await this.tree.head()) }
  }

  /** Undoes a merge that was not accepted: by a reset, or by a revert if other commits follow it. */
  async undo(merge: string, onto: string, add: Add): Promise<void> {
    if ((await this.tree.head()) === merge) return this.#resetTo(onto, add)
    const result = await this.tree.revert(merge)
    if (!result.reverted)
      throw loopError(
        'loop-refused',
        `Commits were added to the loop's branch in ${this.tree.folder} while the checks of the merge ran, and they change ${result.files.join(', ')}, too. Take the merge back there: git revert -m 1 ${merge.slice(0, 10)}`,
      )
  }

  async #resetTo(onto: string, add: Add): Promise<void> {
    const ref = await this.tree.resetTo(onto, `refs/chirality/loop-kept/${this.#state.worktreeId}`)
    if (ref !== undefined) await add({ type: 'branch:kept', ref })
  }

  /** Reverts the change of a proved task, and removes its tick from the list. */
  async revert(task: TaskState, add: Add): Promise<void> {
    if (await this.tree.isChanged())
      throw loopError(
        'loop-refused',
        `Files in ${this.tree.folder} are changed and not committed. Commit or discard them there, then revert.`,
      )
    const { merged = '' } = task
    await add({ type: 'revert:start', task: task.task.id, onto: await this.tree.head() })
    const result = await this.tree.revert(merged)
    if (!result.reverted)
      throw loopError(
        'loop-refused',
        `Later commits changed ${result.files.join(', ')}, too. Revert those first. Nothing was changed.`,
      )
    await this.#reverted(task, await this.tree.head(), add)
  }

  async #reverted({ task: { id } }: TaskState, commit: string, add: Add): Promise<void> {
    const { list } = this.#state
    const text = await readNamedFile(list)
    if (text !== undefined) replaceUserFile(list, untickTask(text, id, path.basename(list)), this.#folder)
    await add({ type: 'task:reverted', task: id, commit })
  }
}

/** True if a revert was started and not recorded as done. */
export function isReverting({ status, reverting }: TaskState): boolean {
  return status === 'merged' && reverting !== undefined
}
