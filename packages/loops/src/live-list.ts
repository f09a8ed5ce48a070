import path from 'node:path'
import { isCodedError } from '@chirality/core'
import { readIfThere, replaceUserFile } from './files.ts'
import type { JournalEntry, LoopEndReason } from './journal.ts'
import type { ListChangeKind, LoopState } from './loop-state.ts'
import { doneWords, verdictCounts } from './proof/verdict.ts'
import { parseTaskList, type Task, tickTasks } from './task-list.ts'

type ListChange = Extract<JournalEntry, { type: 'list:changed' }>

/** The task list of a loop, which others may edit at any time. */
export class LiveList {
  readonly #state: LoopState
  readonly #folder: string
  readonly #onChange: (change: ListChange) => void
  /** The list at the start of the loop, whose contents a person allowed. */
  readonly #begun: Map<string, Task> | undefined
  #lastText: string | undefined
  #lastTasks: Task[] | undefined

  /**
   * `begun`: the list at the start of the loop. `folder`: place for the temporary file of a write. `onChange`: receives
   * differences from `begun` that were not reported before.
   */
  constructor(
    state: LoopState,
    { folder, begun }: { folder: string; begun: string | undefined },
    onChange: (change: ListChange) => void,
  ) {
    this.#state = state
    this.#folder = folder
    this.#onChange = onChange
    if (begun === undefined) return
    const { tasks } = parseTaskList(begun, path.basename(state.list))
    this.#begun = new Map(tasks.map(task => [task.id, task]))
  }

  /** The current tasks of the file. Undefined if it cannot be read. */
  tasks(): Task[] | undefined {
    const text = readIfThere(this.#state.list)
    if (text === undefined) return undefined
    if (text === this.#lastText) return this.#lastTasks
    try {
      const { tasks } = parseTaskList(text, path.basename(this.#state.list))
      const before = this.#lastTasks
      this.#lastText = text
      this.#lastTasks = tasks
      const change = this.#changes(tasks, before)
      if (change !== undefined) this.#onChange(change)
    } catch (error) {
      if (!isCodedError(error)) throw error
      // The file may be in the middle of an edit: the last readable version counts until then.
    }
    return this.#lastTasks
  }

  /** Checks of a task that were removed from the list since the loop started. */
  missing({ id, checks }: Task): string[] {
    return (this.#begun?.get(id)?.checks ?? []).filter(check => !checks.includes(check))
  }

  tick(ids: string[]): void {
    const { list } = this.#state
    const text = readIfThere(list)
    if (text === undefined) return
    try {
      const ticked = tickTasks(text, new Set(ids), path.basename(list))
      if (ticked !== text) replaceUserFile(list, ticked, this.#folder)
    } catch (error) {
      if (!isCodedError(error)) throw error
    }
  }

  /** Differences that were not reported before. */
  #changes(tasks: readonly Task[], last: readonly Task[] | undefined): ListChange | undefined {
    const { changes, tasks: known } = this.#state
    const begun = this.#begun
    const isMerged = (id: string) => known.get(id)?.status === 'merged'
    const idsOf = (found: readonly Task[]) => found.map(({ id }) => id)
    const now = new Map(tasks.map(task => [task.id, task]))
    const found: Record<ListChangeKind, string[]> = {
      added: begun === undefined ? [] : idsOf(tasks.filter(({ id }) => !begun.has(id))),
      changed: idsOf(
        tasks.filter(task => begun?.has(task.id) && wordsOf(begun.get(task.id)) !== wordsOf(task)),
      ),
      removed: [...(begun?.keys() ?? [])].filter(id => !now.has(id)),
      ticked: idsOf(claimedIn(this.#state, tasks)),
      unticked: idsOf(
        (last ?? []).filter(({ id, ticked }) => ticked && isMerged(id) && now.get(id)?.ticked === false),
      ),
    }
    const news = Object.fromEntries(
      Object.entries(found).map(([kind, ids]) => [
        kind,
        ids.filter(id => !changes[kind as ListChangeKind].includes(id)),
      ]),
    ) as Record<ListChangeKind, string[]>
    if (Object.values(news).every(ids => ids.length === 0)) return undefined
    const { ticked, unticked, ...rest } = news
    return {
      type: 'list:changed',
      ...rest,
      ticked: ticked.length === 0 ? undefined : ticked,
      unticked: unticked.length === 0 ? undefined : unticked,
    }
  }
}

/** Tasks that somebody ticked since the loop started and that the loop did not prove: they are not done. */
export function claimedIn({ tasks: known, tickedBefore }: LoopState, tasks: readonly Task[]): Task[] {
  return tasks.filter(
    ({ id, ticked }) => ticked && !tickedBefore.has(id) && known.get(id)?.status !== 'merged',
  )
}

/** True if the task was ticked when the loop started, so that it is no task of this loop. */
export function wasDoneBefore({ tickedBefore }: LoopState, { id, ticked }: Task): boolean {
  return ticked && tickedBefore.has(id)
}

/** End of a loop that has no further task to work on. */
export function loopEnd(state: LoopState, tasks: readonly Task[]): { reason: LoopEndReason; why: string } {
  const isOpen = (task: Task) => state.tasks.get(task.id)?.status !== 'merged' && !wasDoneBefore(state, task)
  const open = tasks.filter(isOpen)
  if (open.length === 0) return { reason: 'done', why: doneWords(verdictCounts(state.tasks.values())) }
  const claimed = claimedIn(state, tasks).length
  const words = claimed === 0 ? '' : ` ${claimed} of them ticked by somebody, not proved.`
  const are = open.length === 1 ? 'is' : 'are'
  return { reason: 'blocked', why: `${open.length} of ${tasks.length} tasks ${are} not done.${words}` }
}

function wordsOf(task: Task | undefined): string {
  if (task === undefined) return ''
  const { line: _line, ticked: _ticked, ...words } = task
  return JSON.stringify(words)
}
