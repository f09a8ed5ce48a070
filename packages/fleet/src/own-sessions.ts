import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { Link } from './engine/link.ts'
import { SavedText } from './engine/saved-text.ts'
import { inWindow } from './in-window.ts'
import type { Beat, LocalMachine } from './machines.ts'
import { MISSING } from './remote-sessions.ts'
import { subjects } from './subjects.ts'

/** Tells the hubs of this machine's sessions: all once, then those that changed. */
export class OwnSessions {
  readonly #machine: string
  readonly #dirty = new Set<string>()
  /** Whose status the hubs have: when this machine stops, they hear that none of them runs. */
  readonly #told: ToldSessions
  /** Those that were deleted or moved away, until the hubs know it. */
  readonly #removed: ToldSessions
  /** The open projects whose sessions were marked. */
  #marked: string[] = []
  /** The projects whose sessions were told since this machine joined, also those that were closed since. */
  readonly #roots: ToldSessions
  /** The message of the last beat. Only this machine writes that subject. */
  #beatSeq: number | undefined

  constructor(machine: string, folder: string) {
    this.#machine = machine
    this.#told = new ToldSessions(join(folder, 'told.json'))
    this.#removed = new ToldSessions(join(folder, 'removed.json'))
    this.#roots = new ToldSessions(join(folder, 'projects.json'))
  }

  /** The folders of all projects that this machine told of. */
  roots(): string[] {
    return this.#roots.list()
  }

  mark(sessionId: string): void {
    this.#dirty.add(sessionId)
  }

  /** It was deleted, or moved away: if it is not here, that is why. */
  markRemoved(sessionId: string): void {
    // It is known in this run also if the disk is full.
    void this.#removed.add(sessionId).catch(() => {})
    this.mark(sessionId)
  }

  markTold(): void {
    for (const sessionId of this.#told.list()) this.mark(sessionId)
  }

  /**
   * Also those that a killed server told of, and those of projects that this one has not opened: the brokers may have lost
   * their disks meanwhile, and hubs that join now would not know of them.
   */
  async markAll(local: LocalMachine): Promise<void> {
    this.markTold()
    for (const sessionId of this.#removed.list()) this.mark(sessionId)
    await this.markOpened(local)
    for (const root of this.#roots.list()) if (!this.#marked.includes(root)) await this.#markIn(local, root)
  }

  /**
   * Says that this machine is there. If the beat before is not in the stream any more, the brokers lost their disks and
   * all that was told with them: hubs that join from then on would not know of sessions that rest, so all are told again.
   */
  async beat(link: Link, local: LocalMachine, said: Beat): Promise<void> {
    const subject = subjects.presence(this.#machine)
    const body = Buffer.from(JSON.stringify(said))
    const before = this.#beatSeq
    const told = await link.publish(subject, body, before === undefined ? {} : { after: before })
    if (told.kind === 'stored') {
      this.#beatSeq = told.seq
      return
    }
    // Also after a beat whose answer was lost: telling all again does no harm.
    this.#beatSeq = undefined
    this.#marked = []
    await this.markAll(local)
    const again = await link.publish(subject, body)
    if (again.kind === 'stored') this.#beatSeq = again.seq
  }

  /** The sessions of projects that were opened since this was called last. */
  async markOpened(local: LocalMachine): Promise<void> {
    const marked: string[] = []
    for (const root of local.host.projects())
      if (this.#marked.includes(root) || (await this.#markIn(local, root))) marked.push(root)
    this.#marked = marked
  }

  /** False for a project that cannot be read now: it is read the next time. */
  async #markIn({ host }: LocalMachine, root: string): Promise<boolean> {
    const listed = await host.store.list(root).catch(() => undefined)
    if (listed === undefined) return false
    for (const { id } of listed) this.mark(id)
    // It is known in this run also if the disk is full.
    void this.#roots.add(root).catch(() => {})
    return true
  }

  async tell(link: Link, local: LocalMachine): Promise<void> {
    await inWindow([...this.#dirty], WINDOW, sessionId => this.#tell(link, local, sessionId))
  }

  async #tell(link: Link, { host, isDiscarded, toldByWork }: LocalMachine, sessionId: string): Promise<void> {
    this.#dirty.delete(sessionId)
    try {
      const session = await host.store.get(sessionId)
      const discarded = isDiscarded(sessionId)
      const status = host.openSession(sessionId)?.status ?? null
      // Before it is said: a server that is killed in between has nothing to take back.
      if (status !== null) await this.#told.add(sessionId)
      // One that nobody removed is in a project whose disk is away: its copies are needed still.
      const absent = this.#removed.has(sessionId) ? '' : MISSING
      const said = discarded
        ? { session, status: null, discarded }
        : { session, status, work: toldByWork(sessionId) }
      const body = session === undefined ? absent : JSON.stringify(said)
      await link.publish(subjects.session(this.#machine, sessionId), Buffer.from(body))
      if (status === null) await this.#told.delete(sessionId)
      // It may have been removed while this was said. A discarded one is deleted by the next server if this one is killed.
      if (body !== MISSING && !discarded && !this.#dirty.has(sessionId)) await this.#removed.delete(sessionId)
    } catch (error) {
      this.mark(sessionId)
      throw error
    }
  }
}

/** Sessions at once: with each other's answers awaited, the beats of a machine with many sessions came late. */
const WINDOW = 32

/**
 * Sessions of which the hubs know something, or do not know it yet, or projects. It is in a file, so that a server that was killed is
 * taken at its word only until the next one starts, whichever projects that one opens.
 */
export class ToldSessions {
  readonly #ids: Set<string>
  readonly #saved: SavedText

  constructor(file: string) {
    this.#ids = new Set(readIds(file))
    this.#saved = new SavedText(file, () => JSON.stringify([...this.#ids]))
  }

  has(sessionId: string): boolean {
    return this.#ids.has(sessionId)
  }

  list(): string[] {
    return [...this.#ids]
  }

  /** Resolves when it is on the disk. */
  async add(sessionId: string): Promise<void> {
    if (this.#ids.has(sessionId)) return
    this.#ids.add(sessionId)
    await this.#saved.save()
  }

  async delete(sessionId: string): Promise<void> {
    if (this.#ids.delete(sessionId)) await this.#saved.save()
  }
}

/** A damaged file is as none: the sessions of open projects are told of in any case. */
function readIds(file: string): string[] {
  try {
    return z.array(z.string()).parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return []
  }
}
