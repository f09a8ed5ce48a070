/**
 * A timer that many files share, so that their work runs in one turn of the event loop and a following write to a
 * socket happens once for all of them. Under load the interval grows and the tasks are spread over several beats: one
 * long beat would block everything else. The timer stops when there are no tasks.
 */
export class Pulse {
  readonly #tasks = new Set<() => void>()
  #due: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  /** The duration of the last round and of this one, including the work that they caused. */
  #lastRoundMs = 0
  #roundMs = 0

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
    if (this.#due.length === 0) {
      this.#due = [...this.#tasks]
      this.#lastRoundMs = this.#roundMs
      this.#roundMs = 0
    }
    const groups = Math.ceil(this.#tasks.size / MAX_TASKS_A_BEAT)
    this.#timer = setTimeout(this.#beat, pulseIntervalMs(this.#lastRoundMs) / groups)
    const startedAt = performance.now()
    setImmediate(() => {
      this.#roundMs += performance.now() - startedAt
    })
    for (const task of this.#due.splice(0, Math.ceil(this.#tasks.size / groups)))
      if (this.#tasks.has(task)) task()
  }
}

/** The interval between two rounds, from the duration of the last one: the work takes at most a sixth of the time. */
export function pulseIntervalMs(roundMs: number): number {
  return Math.min(Math.max(MIN_INTERVAL_MS, roundMs * REST_FACTOR), MAX_INTERVAL_MS)
}

/** One frame of a screen. */
const MIN_INTERVAL_MS = 16
/** The limit for an overloaded machine. The delay is not noticeable, because a person reads one agent at a time. */
const MAX_INTERVAL_MS = 100
const REST_FACTOR = 6
const MAX_TASKS_A_BEAT = 25
