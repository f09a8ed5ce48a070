import type { SessionStatus } from '@chirality/sessions'
import type { Centre } from '../centre.ts'
import { type FleetService, remoteSession, remoteStatus } from '../machines.ts'

/** The latest status of each session that changed since the last call, and the deleted ones. */
export class StatusChanges {
  readonly #projects: Centre['projects']
  readonly #discarded: Centre['discarded']
  readonly #machines: FleetService | undefined
  /** Whether a project is registered, and when that was looked up: statuses change far more often than the list. */
  readonly #lookups = new Map<string, { at: number; registered: boolean }>()
  readonly #shown = new Set<string>()
  /** Told as removed, and not shown since. */
  readonly #gone = new Set<string>()
  readonly #changed = new Map<string, SessionStatus>()
  readonly #removed = new Set<string>()
  readonly #loops = new Set<string>()
  #schedules = false
  readonly #unsubscribe: (() => void)[]
  #wake: () => void = () => {}
  #closed = false

  constructor({ host, removed, loops, schedules, projects, discarded, machines }: Centre) {
    this.#projects = projects
    this.#discarded = discarded
    this.#machines = machines
    this.#unsubscribe = [
      host.onStatus(status => {
        this.#changed.set(status.sessionId, status)
        this.#wake()
      }),
      removed.onRemoved(sessionId => {
        // A pending status of the session is sent before its deletion.
        this.#changed.delete(sessionId)
        this.#removed.add(sessionId)
        this.#wake()
      }),
      loops.onChange(({ loopId }) => {
        this.#loops.add(loopId)
        this.#wake()
      }),
      schedules.onListChange(() => {
        this.#schedules = true
        this.#wake()
      }),
      machines?.onChange(sessionId => {
        const remote = remoteSession(machines, sessionId)
        const own = remote === undefined ? host.openSession(sessionId) : undefined
        // It came to this machine.
        if (own !== undefined) this.#changed.set(sessionId, own.status)
        else if (remote === undefined) {
          this.#changed.delete(sessionId)
          this.#removed.add(sessionId)
        } else {
          this.#removed.delete(sessionId)
          this.#changed.set(sessionId, remoteStatus(machines, remote))
        }
        this.#wake()
      }) ?? (() => {}),
    ]
  }

  /** Resolves when there are changes; false when the subscription is over. */
  async some(): Promise<boolean> {
    const isQuiet = () => !this.#schedules && this.#changed.size + this.#removed.size + this.#loops.size === 0
    while (!this.#closed && isQuiet()) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    return !this.#closed
  }

  /** Sessions of registered projects, and the ids of those that were shown and no longer belong to one. */
  async registered(statuses: SessionStatus[]): Promise<{ shown: SessionStatus[]; hidden: string[] }> {
    const isRemote = ({ sessionId }: SessionStatus) => remoteSession(this.#machines, sessionId) !== undefined
    const roots = new Set(statuses.flatMap(status => (isRemote(status) ? [] : [status.projectRoot])))
    await Promise.all([...roots].map(root => this.#lookUp(root)))
    const isShown = (status: SessionStatus) =>
      isRemote(status) ||
      (this.#lookups.get(status.projectRoot)?.registered === true && !this.#discarded.has(status.sessionId))
    const shown = statuses.filter(isShown)
    for (const { sessionId } of shown) {
      this.#shown.add(sessionId)
      this.#gone.delete(sessionId)
    }
    const hidden = statuses.filter(status => !isShown(status) && this.#shown.delete(status.sessionId))
    return { shown, hidden: hidden.map(({ sessionId }) => sessionId) }
  }

  /** A session that was discarded and whose last status comes after it is removed once. */
  untold(removed: string[]): string[] {
    const untold = [...new Set(removed)].filter(sessionId => !this.#gone.has(sessionId))
    for (const sessionId of untold) this.#gone.add(sessionId)
    return untold
  }

  async #lookUp(root: string): Promise<void> {
    const now = Date.now()
    if (now - (this.#lookups.get(root)?.at ?? 0) < LOOKUP_MS) return
    const registered = await this.#projects.isRegistered(root)
    this.#lookups.set(root, { at: now, registered })
  }

  take(): { sessions: SessionStatus[]; removed: string[]; loops: string[]; schedules: boolean } {
    const taken = {
      sessions: [...this.#changed.values()],
      removed: [...this.#removed],
      loops: [...this.#loops],
      schedules: this.#schedules,
    }
    this.#schedules = false
    this.#loops.clear()
    this.#changed.clear()
    this.#removed.clear()
    return taken
  }

  close(): void {
    this.#closed = true
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#wake()
  }
}

/** How long a change of the project list by another process may go unnoticed. */
const LOOKUP_MS = 1000
