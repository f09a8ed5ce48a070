import path from 'node:path'
import { isCodedError } from '@chirality/core'
import { readIfThere, replaceUserFile } from './files.ts'
import type { JournalEntry } from './journal.ts'
import { parseTaskList, type Task, tickTasks } from './task-list.ts'

type ListChange = Extract<JournalEntry, { type: 'list:changed' }>

/** The task list of a loop, which others may edit at any time. */
export class LiveList {
  readonly #file: string
  readonly #folder: string
  readonly #onChange: (change: ListChange) => void
  #lastText: string | undefined
  #lastTasks: Task[] | undefined

  /** `folder`: where a half-written list is left if the process is killed. `onChange`: what is not as at the last look. */
  constructor(file: string, folder: string, onChange: (change: ListChange) => void) {
    this.#file = file
    this.#folder = folder
    this.#onChange = onChange
  }

  /** The tasks of the file as it is now. Undefined if it cannot be read. */
  tasks(): Task[] | undefined {
    const text = readIfThere(this.#file)
    if (text === undefined) return undefined
    if (text === this.#lastText) return this.#lastTasks
    try {
      const { tasks } = parseTaskList(text, path.basename(this.#file))
      const change = changeOf(this.#lastTasks, tasks)
      if (change !== undefined) this.#onChange(change)
      this.#lastText = text
      this.#lastTasks = tasks
    } catch (error) {
      if (!isCodedError(error)) throw error
      // In the middle of an edit, perhaps: what was read before counts until it can be read again.
    }
    return this.#lastTasks
  }

  tick(ids: string[]): void {
    const text = readIfThere(this.#file)
    if (text === undefined) return
    try {
      const ticked = tickTasks(text, new Set(ids), path.basename(this.#file))
      if (ticked !== text) replaceUserFile(this.#file, ticked, this.#folder)
    } catch (error) {
      if (!isCodedError(error)) throw error
    }
  }
}

function changeOf(before: readonly Task[] | undefined, tasks: readonly Task[]): ListChange | undefined {
  if (before === undefined) return undefined
  const words = ({ line: _line, ticked: _ticked, ...rest }: Task) => JSON.stringify(rest)
  const was = new Map(before.map(task => [task.id, words(task)]))
  const now = new Set(tasks.map(({ id }) => id))
  const added = tasks.filter(({ id }) => !was.has(id)).map(({ id }) => id)
  const changed = tasks
    .filter(task => was.has(task.id) && was.get(task.id) !== words(task))
    .map(({ id }) => id)
  const removed = before.filter(({ id }) => !now.has(id)).map(({ id }) => id)
  if (added.length + changed.length + removed.length === 0) return undefined
  return { type: 'list:changed', added, changed, removed }
}
