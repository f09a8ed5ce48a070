import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FleetLocal } from '@chirality/centre'
import { z } from 'zod'
import type { Link } from './engine/link.ts'
import { SavedText } from './engine/saved-text.ts'
import { inWindow } from './in-window.ts'
import type { Beat } from './machines.ts'
import { MISSING } from './remote-sessions.ts'
import { subjects } from './subjects.ts'

/** Reports this machine's sessions to the hubs: all of them once, then each that changed. */
export class OwnSessions {
  readonly #machine: string
  readonly #dirty = new Set<string>()
  /** Sessions whose status the hubs have. When this machine stops, they learn that none of them runs. */
  readonly #told: ToldSessions
  /** Sessions that were deleted or moved away, until the hubs know it. */
  readonly #removed: ToldSessions
  /** The open projects whose sessions were marked. */
  #marked: string[] = []
  /** Projects whose sessions were reported since this machine joined, including closed ones. */
  readonly #roots: ToldSessions
  /** Stream position of the last beat. Only this machine writes that subject. */
  #beatSeq: number | undefined

  constructor(machine: string, folder: string) {
    this.#machine = machine
    this.#told = new ToldSessions(join(folder, 'told.json'))
    this.#removed = new ToldSessions(join(folder, 'removed.json'))
    this.#roots = new ToldSessions(join(folder, 'projects.json'))
  }

  /** Folders of all projects that this machine reported. */
  roots(): string[] {
    return this.#roots.list()
  }

  mark(sessionId: string): void {
    this.#dirty.add(sessionId)
  }

  /** Notes that a session was deleted or moved away, which explains its absence. */
  markRemoved(sessionId: string): void {
    // Known in this run even if the disk is full.
    void this.#removed.add(sessionId).catch(() => {})
    this.mark(sessionId)
  }

  markTold(): void {
    for (const sessionId of this.#told.list()) this.mark(sessionId)
  }

  /**
   * Marks all sessions, including those that a killed server reported and those of projects that are not open now: the
   * brokers may have lost their disks, and hubs that join later would not learn of them.
   */
  async markAll(local: FleetLocal): Promise<void> {
    this.markTold()
    for (const sessionId of this.#removed.list()) this.mark(sessionId)
    await this.markOpened(local)
    for (const root of this.#roots.list()) if (!this.#marked.includes(root)) await this.#markIn(local, root)
  }

  /**
   * Publishes the beat of this machine. If the previous beat is missing in the stream, the brokers lost their disks and
   * everything reported with them, so all sessions are reported again; hubs that join later would not learn of idle
   * ones.
   */
  async beat(link: Link, local: FleetLocal, said: Beat): Promise<void> {
    const subject = subjects.presence(this.#machine)
    const body = Buffer.from(JSON.stringify(said))
    const before = this.#beatSeq
    const told = await link.publish(subject, body, before === undefined ? {} : { after: before })
    if (told.kind === 'stored') {
      this.#beatSeq = told.seq
      return
    }
    // Also taken after a beat whose answer was lost: reporting everything again does no harm.
    this.#beatSeq = undefined
    this.#marked = []
    await this.markAll(local)
    const again = await link.publish(subject, body)
    if (again.kind === 'stored') this.#beatSeq = again.seq
  }

  /** Marks the sessions of projects that were opened since the last call. */
  async markOpened(local: FleetLocal): Promise<void> {
    const marked: string[] = []
    for (const root of local.host.projects())
      if (this.#marked.includes(root) || (await this.#markIn(local, root))) marked.push(root)
    this.#marked = marked
  }

  /** False for a project that cannot be read now; it is tried again. */
  async #markIn({ host }: FleetLocal, root: string): Promise<boolean> {
    const listed = await host.store.list(root).catch(() => undefined)
    if (listed === undefined) return false
    for (const { id } of listed) this.mark(id)
    // Known in this run even if the disk is full.
    void this.#roots.add(root).catch(() => {})
    return true
  }

  async tell(link: Link, local: FleetLocal): Promise<void> {
    await inWindow([...this.#dirty], WINDOW, sessionId => this.#tell(link, local, sessionId))
  }

  async #tell(link: Link, { host, isDiscarded, toldByWork }: FleetLocal, sessionId: string): Promise<void> {
    this.#dirty.delete(sessionId)
    try {
      const session = await host.store.get(sessionId)
      const discarded = isDiscarded(sessionId)
      const status = host.openSession(sessionId)?.status ?? null
      // Noted first: a server that is killed in between would otherwise leave a running status that nobody withdraws.
      if (status !== null) await this.#told.add(sessionId)
      // A session that nobody removed is in a project whose disk is away, so its copies are still needed.
      const absent = this.#removed.has(sessionId) ? '' : MISSING
      const said = discarded
        ? { session, status: null, discarded }
        : { session, status, work: toldByWork(sessionId) }
      const body = session === undefined ? absent : JSON.stringify(said)
      await link.publish(subjects.session(this.#machine, sessionId), Buffer.from(body))
      if (status === null) await this.#told.delete(sessionId)
      // Kept if the session was removed during the report, or is only discarded: the next server deletes a discarded
      // one if this one is killed.
      if (body !== MISSING && !discarded && !this.#dirty.has(sessionId)) await this.#removed.delete(sessionId)
    } catch (error) {
      this.mark(sessionId)
      throw error
    }
  }
}

/** Number of sessions reported at once. One at a time delayed the beats of a machine with many sessions. */
const WINDOW = 32

/**
 * A persisted set of ids or project folders. After a kill, the next server knows what the hubs believe, whichever
 * projects it opens.
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

  /** Resolves when the set is on the disk. */
  async add(sessionId: string): Promise<void> {
    if (this.#ids.has(sessionId)) return
    this.#ids.add(sessionId)
    await this.#saved.save()
  }

  async delete(sessionId: string): Promise<void> {
    if (this.#ids.delete(sessionId)) await this.#saved.save()
  }
}

/** A damaged file counts as empty: the sessions of open projects are reported in any case. */
function readIds(file: string): string[] {
  try {
    return z.array(z.string()).parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return []
  }
}
