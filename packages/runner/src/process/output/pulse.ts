/**
 * A clock that many share, so that all of them do what they do in one turn of the event loop: what follows from it, such as a
 * write to a socket, is then done once for all. When they have much to do it slows down, and many take turns: a beat that has
 * too much to do would hold up everything else. It stands still when there is nobody.
 */
export class Pulse {
  readonly #tasks = new Set<() => void>()
  #due: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  /** What the last round and this one took, with all that followed from them. */
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

/** How long after the last round the next one ends, given what the last one took: the work takes a third of the time at most. */
export function pulseIntervalMs(roundMs: number): number {
  return Math.min(Math.max(MIN_INTERVAL_MS, roundMs * REST_FACTOR), MAX_INTERVAL_MS)
}

/** A frame of a screen. */
const MIN_INTERVAL_MS = 16
/** Of a machine that cannot keep up. A person does not see the difference, and reads one of so many at a time. */
const MAX_INTERVAL_MS = 100
const REST_FACTOR = 3
const MAX_TASKS_A_BEAT = 25
