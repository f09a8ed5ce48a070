import { Listeners } from '../../ui/listeners.ts'
import type { LoopSummary, LoopTaskState, SessionStatus } from '../server/answers.ts'

/** Every session of every project, as the server tells of it. */
export class FleetStore {
  #statuses: readonly SessionStatus[] = []
  #loaded = false
  readonly #byId = new Map<string, SessionStatus>()
  readonly #spent = new Map<string, readonly Spent[]>()
  readonly #listeners = new Listeners()
  readonly #changeListeners = new Set<(now: SessionStatus, before: SessionStatus | undefined) => void>()
  readonly #removeListeners = new Set<(sessionId: string) => void>()

  #loops: readonly LoopSummary[] = []
  #knowsLoops = false
  #schedules = 0
  /** Tasks by their session; a task without one is its own key. */
  #tasks = new Map<string | LoopTaskState, LoopTaskState>()
  #parked: readonly LoopTaskState[] = []

  /** Tasks that need a person and have no session among `list`. */
  readonly parked = (): readonly LoopTaskState[] => this.#parked
  readonly list = (): readonly SessionStatus[] => this.#statuses
  /** Newest first. */
  readonly loops = (): readonly LoopSummary[] => this.#loops
  readonly knowsLoops = (): boolean => this.#knowsLoops
  /** Grows when the schedules may have changed. */
  readonly schedules = (): number => this.#schedules
  readonly isLoaded = (): boolean => this.#loaded

  readonly subscribe = this.#listeners.subscribe

  get(sessionId: string): SessionStatus | undefined {
    return this.#byId.get(sessionId)
  }

  /** Told of each change of a session that was known before, for notifications. */
  onChange(listener: (now: SessionStatus, before: SessionStatus | undefined) => void): () => void {
    this.#changeListeners.add(listener)
    return () => this.#changeListeners.delete(listener)
  }

  /** Takes the loops that changed; the others stay as they are. */
  setLoops(changed: readonly LoopSummary[]): void {
    const known = new Map(this.#loops.map(loop => [loop.loopId, loop]))
    for (const loop of changed) known.set(loop.loopId, loop)
    this.#tasks = new Map([...known.values()].flatMap(unprovedOf).map(task => [task.sessionId ?? task, task]))
    this.#knowsLoops = true
    this.#loops = [...known.values()].sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
    for (const status of this.#byId.values()) this.#byId.set(status.sessionId, this.#withTask(status))
    this.#publish()
  }

  noteSchedules(): void {
    this.#schedules += 1
    this.#listeners.tell()
  }

  onRemove(listener: (sessionId: string) => void): () => void {
    this.#removeListeners.add(listener)
    return () => this.#removeListeners.delete(listener)
  }

  /** Takes the stored list: sessions missing from it are removed; running ones are newer already. */
  setStored(stored: readonly SessionStatus[]): void {
    this.#loaded = true
    const ids = new Set(stored.map(({ sessionId }) => sessionId))
    for (const [id, { phase }] of this.#byId) if (!ids.has(id) && phase === 'idle') this.#drop(id)
    for (const status of stored) {
      const known = this.#byId.get(status.sessionId)
      if (!known || (known.phase === 'idle' && known.lastSeq < status.lastSeq)) this.#put(status)
    }
    this.#publish()
  }

  update(statuses: readonly SessionStatus[]): void {
    const before = statuses.map(({ sessionId }) => this.#byId.get(sessionId))
    for (const status of statuses) this.#put(status)
    this.#publish()
    statuses.forEach((status, i) => {
      for (const listener of this.#changeListeners) listener(status, before[i])
    })
  }

  /** Dollars a minute over the last minutes. */
  burn(sessionId: string, now: number): number {
    // What rests burns nothing, whatever the last minutes cost.
    if (this.#byId.get(sessionId)?.phase === 'idle') return 0
    return burnPerMinute(this.#spent.get(sessionId) ?? [], now)
  }

  #put(status: SessionStatus): void {
    const { sessionId, costUsd } = status
    this.#byId.set(sessionId, this.#withTask(status))
    const spent = addSpent(this.#spent.get(sessionId) ?? [], { at: Date.now(), usd: costUsd ?? 0 })
    this.#spent.set(sessionId, spent)
  }

  remove(sessionId: string): void {
    if (this.#drop(sessionId)) this.#publish()
  }

  #drop(sessionId: string): boolean {
    if (!this.#byId.delete(sessionId)) return false
    for (const listener of this.#removeListeners) listener(sessionId)
    return true
  }

  #withTask(status: SessionStatus): SessionStatus {
    const task = this.#tasks.get(status.sessionId)
    if (isSameTask(task, status.task)) return status
    const { task: _before, ...rest } = status
    return task === undefined ? rest : { ...rest, task }
  }

  #publish(): void {
    this.#statuses = [...this.#byId.values()]
    const parked = [...this.#tasks.values()].filter(({ status }) => status === 'parked')
    this.#parked = parked.filter(({ sessionId }) => sessionId === null || !this.#byId.has(sessionId))
    this.#listeners.tell()
  }
}

function unprovedOf({ loopId, list, project, runs, unproved }: LoopSummary): LoopTaskState[] {
  return unproved.map(task => ({ ...task, loopId, list, project, isLoopAtWork: runs !== 'no' }))
}

function isSameTask(a: LoopTaskState | undefined, b: LoopTaskState | undefined): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

/** Cost up to a moment. */
export interface Spent {
  at: number
  usd: number
}

const WINDOW_MS = 5 * 60_000
const MINUTE_MS = 60_000

/** Keeps what the last minutes need, and one point before them. */
export function addSpent(samples: readonly Spent[], next: Spent): readonly Spent[] {
  const last = samples.at(-1)
  if (last && last.usd === next.usd) return samples
  const recent = samples.filter(({ at }) => next.at - at <= WINDOW_MS)
  const before = samples.length > recent.length ? samples[samples.length - recent.length - 1] : undefined
  return before && recent.length === 0 ? [before, next] : [...recent, next]
}

/** Dollars a minute over the last minutes; 0 when nothing was spent in them. */
export function burnPerMinute(samples: readonly Spent[], now: number): number {
  const recent = samples.filter(({ at }) => now - at <= WINDOW_MS)
  const [first] = recent
  const last = recent.at(-1)
  if (!first || !last || first === last) return 0
  return (last.usd - first.usd) / Math.max(1, (now - first.at) / MINUTE_MS)
}
