import { realpathSync } from 'node:fs'
import path from 'node:path'
import { isAlive, listCarefully, lookCarefully } from '@chirality/disk'
import type { Link } from './chain.ts'
import { loopFile, readLoopFile } from './files.ts'
import { Journal } from './journal-file.ts'
import type { LoopState } from './loop-state.ts'
import { openSeal, readSeal, type Seal, sha256 } from './machine-key.ts'
import { LOOP_ID, loopFolder, type OwnLoop, ownLoopIds, readOwnLoop } from './own-loop.ts'
import { ProjectCopy } from './project-copy.ts'
import { type ReadJournal, readJournal } from './read-journal.ts'
import { foreignLoop, goneLoop, loopOf, mistrust } from './unreadable-loop.ts'

/**
 * Where the loops of a project are: in the user's data folder, which alone is believed. What the project has of them is a
 * copy for people, or came with a clone.
 */
export class LoopStore {
  readonly projectRoot: string
  readonly home: string
  readonly #onFault: (error: Error) => void
  readonly #kept = new Map<string, { stamp: string; state: LoopState }>()
  /** How far this process has read each journal: what it has read cannot become something else. */
  readonly #seen = new Map<string, Link>()
  #seal: Seal | undefined

  constructor(projectRoot: string, home: string, onFault: (error: Error) => void = () => {}) {
    this.projectRoot = realpathSync(projectRoot)
    this.home = home
    this.#onFault = onFault
  }

  folder(loopId: string): string {
    return loopFolder(this.home, loopId)
  }

  copy(loopId: string): ProjectCopy {
    return new ProjectCopy(this.projectRoot, loopId)
  }

  /** Undefined if there is none yet, or it is gone. Once read, that of the memory counts. */
  get seal(): Seal | undefined {
    this.#seal ??= readSeal(this.home)
    return this.#seal
  }

  requireSeal(): Seal {
    this.#seal ??= openSeal(this.home)
    return this.#seal
  }

  own(loopId: string): OwnLoop | undefined {
    return readOwnLoop(this.home, loopId, this.seal)
  }

  /** Whether this user started the loop in this folder, and not another one whose clone it is. */
  isOwn(loopId: string): boolean {
    return this.own(loopId)?.project === this.projectRoot
  }

  /** Newest first. One whose files cannot be read or believed is among them, and says so. */
  async list(): Promise<LoopState[]> {
    const { projectRoot: root } = this
    const found = await listCarefully({ root, path: '.chirality/loops', links: 'none' })
    if (found !== undefined && 'fault' in found) this.#onFault(new Error(found.fault.message))
    const copies = found !== undefined && 'entries' in found ? found.entries.map(({ name }) => name) : []
    const own = ownLoopIds(this.home).filter(loopId => {
      const record = this.own(loopId)
      // One that somebody changed does not hide the loop: its journal says whose it is.
      return record === undefined || record.isAltered || record.project === root
    })
    const states: LoopState[] = []
    for (const loopId of new Set([...own, ...copies]))
      states.push(...[(await this.find(loopId)) ?? []].flat())
    return states.sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
  }

  /** By its whole id. Its files are read again only if they have changed. */
  async find(loopId: string): Promise<LoopState | undefined> {
    if (!LOOP_ID.test(loopId)) return undefined
    const stamp = await this.#stamp(loopId)
    const kept = this.#kept.get(loopId)
    if (kept?.stamp === stamp) return kept.state
    const found = await this.read(loopId)
    if (found !== undefined) this.#kept.set(loopId, { stamp, state: found.state })
    return found?.state
  }

  async #stamp(loopId: string): Promise<string> {
    const parts: unknown[] = []
    for (const name of ['journal.ndjson', 'head.json', 'own.json']) {
      const file = await lookCarefully(loopFile(this.folder(loopId), name))
      const { size, ino, mtimeMs, ctimeMs } = file !== undefined && 'stats' in file ? file.stats : NO_STATS
      parts.push(size, ino, mtimeMs, ctimeMs)
    }
    return parts.join()
  }

  /** As the files are now. The state is nobody else's, and may be changed in place. */
  async read(loopId: string): Promise<{ state: LoopState; journal?: ReadJournal } | undefined> {
    const { seal, home, projectRoot } = this
    const seen = this.#seen.get(loopId)
    const folder = this.folder(loopId)
    const journal = await readJournal(folder, { loopId, seal, home, ...(seen === undefined ? {} : { seen }) })
    const own = this.own(loopId)
    const state =
      journal === undefined
        ? await this.#withoutJournal(loopId, own)
        : loopOf(journal, { loopId, projectRoot, own })
    if (state === undefined) return this.#foreign(loopId)
    if (
      state.listHash !== undefined &&
      sha256((await readLoopFile(folder, 'list.md')) ?? '') !== state.listHash
    )
      mistrust(state, 'list.md, the list as it began, was changed or removed')
    if (journal !== undefined && state.broken.length === 0) this.#seen.set(loopId, journal.link)
    return { state, ...(journal === undefined ? {} : { journal }) }
  }

  /** A process that was killed at the start leaves the record alone; with a head, there was a journal. */
  async #withoutJournal(loopId: string, own: OwnLoop | undefined): Promise<LoopState | undefined> {
    if (own?.project !== this.projectRoot) return undefined
    const head = await lookCarefully(loopFile(this.folder(loopId), 'head.json'))
    return head === undefined ? undefined : goneLoop({ loopId, projectRoot: this.projectRoot })
  }

  async #foreign(loopId: string): Promise<{ state: LoopState } | undefined> {
    const { projectRoot: root } = this
    const inProject = path.join('.chirality', 'loops', loopId)
    const found = await lookCarefully({ root, path: inProject, links: 'none' })
    if (found === undefined || 'fault' in found || !found.stats.isDirectory()) return undefined
    return { state: foreignLoop({ loopId, projectRoot: root }, found.stats.mtime) }
  }

  /** To write more into it. `read`: what it has; undefined for a new one. */
  journal(loopId: string, read?: ReadJournal): Journal {
    this.#seen.delete(loopId)
    const [folder, copy, seal] = [this.folder(loopId), this.copy(loopId), this.requireSeal()]
    return new Journal({ loopId, folder, copy, seal, read })
  }

  /** The files of the copy in the project that differ from the original. */
  async copyDifferences(loopId: string): Promise<string[]> {
    // Its process writes the report after it has said that the loop is over.
    const pid = Number(await readLoopFile(this.folder(loopId), RUN_FILE))
    if (pid > 0 && (await this.find(loopId))?.pid === pid && isAlive(pid)) return []
    return this.copy(loopId).differences(this.folder(loopId))
  }

  forget(loopId: string): void {
    this.#kept.delete(loopId)
    this.#seen.delete(loopId)
  }
}

/** The process that writes the files of a loop now. */
export const RUN_FILE = 'run.pid'

const NO_STATS = { size: -1, ino: -1, mtimeMs: -1, ctimeMs: -1 }
