/**
 * A clock that many share, so that all of them do what they do in one turn of the event loop: what follows from it, such as a
 * write to a socket, is then done once for all. When there are many it slows down, and they take turns: a beat that has too
 * much to do would hold up everything else. It stands still when there is nobody.
 */
export class Pulse {
  readonly #tasks = new Set<() => void>()
  #due: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined

  add(task: () => void): void {
    this.#tasks.add(task)
    this.#timer ??= setTimeout(this.#beat, MIN_INTERVAL_MS)
  }

  remove(task: () => void): void {
    this.#tasks.delete(task)
    if (this.#tasks.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#due = []
  }

  readonly #beat = (): void => {
    if (this.#due.length === 0) this.#due = [...this.#tasks]
    const groups = Math.ceil(this.#tasks.size / MAX_TASKS_A_BEAT)
    const interval = pulseIntervalMs(this.#tasks.size)
    this.#timer = setTimeout(this.#beat, interval / groups)
    for (const task of this.#due.splice(0, Math.ceil(this.#tasks.size / groups)))
      if (this.#tasks.has(task)) task()
  }
}

/** How long each of so many has to wait for its turn. */
export function pulseIntervalMs(tasks: number): number {
  return Math.min(Math.max(MIN_INTERVAL_MS, tasks * INTERVAL_MS_PER_TASK), MAX_INTERVAL_MS)
}

/** A frame of a screen. */
const MIN_INTERVAL_MS = 16
/** A person does not see the difference, and reads one of so many at a time. */
const MAX_INTERVAL_MS = 100
const INTERVAL_MS_PER_TASK = 2
const MAX_TASKS_A_BEAT = 25
