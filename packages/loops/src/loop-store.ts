import { realpathSync } from 'node:fs'
import path from 'node:path'
import { isAlive, listCarefully, lookCarefully } from '@chirality/disk'
import type { ChainLink } from './chain.ts'
import { loopFile, readLoopFile } from './files.ts'
import { Journal } from './journal-file.ts'
import type { LoopState } from './loop-state.ts'
import { openSeal, readSeal, type Seal, sha256 } from './machine-key.ts'
import { LOOP_ID, loopFolder, type OwnLoop, ownLoopIds, readOwnLoop } from './own-loop.ts'
import { ProjectCopy } from './project-copy.ts'
import { type ReadJournal, readJournal } from './read-journal.ts'
import { foreignLoop, goneLoop, loopOf, mistrust } from './unreadable-loop.ts'

/**
 * The loops of a project, stored in the user's data folder, which alone is trusted. Files of loops in the project are a
 * copy for people, or came with a clone.
 */
export class LoopStore {
  readonly projectRoot: string
  readonly home: string
  readonly #onFault: (error: Error) => void
  readonly #kept = new Map<string, { stamp: string; state: LoopState }>()
  /** Position up to which this process has read each journal; earlier entries must not change. */
  readonly #seen = new Map<string, ChainLink>()
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

  /** Undefined if there is no key yet, or it is gone. After the first read the key in memory counts. */
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

  /** True if this user started the loop in this folder, and not in another clone. */
  isOwn(loopId: string): boolean {
    return this.own(loopId)?.project === this.projectRoot
  }

  /** Newest first. Includes loops whose files cannot be read or trusted, with the reason. */
  async list(): Promise<LoopState[]> {
    const { projectRoot: root } = this
    const found = await listCarefully({ root, path: '.chirality/loops', links: 'none' })
    if (found !== undefined && 'fault' in found) this.#onFault(new Error(found.fault.message))
    const copies = found !== undefined && 'entries' in found ? found.entries.map(({ name }) => name) : []
    const own = ownLoopIds(this.home).filter(loopId => {
      const record = this.own(loopId)
      // A changed record does not hide the loop: the journal names its project.
      return record === undefined || record.isAltered || record.project === root
    })
    const states: LoopState[] = []
    for (const loopId of new Set([...own, ...copies]))
      states.push(...[(await this.find(loopId)) ?? []].flat())
    return states.sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
  }

  /** Finds a loop by its whole id. Its files are read again only after a change. */
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

  /** Reads the current files. The caller owns the state and may change it in place. */
  async read(loopId: string): Promise<{ state: LoopState; journal?: ReadJournal } | undefined> {
    const { seal, home, projectRoot } = this
    const seen = this.#seen.get(loopId)
    const folder = this.folder(loopId)
    const journal = await readJournal(folder, { loopId, seal, home, seen })
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
    return { state, journal }
  }

  /** Undefined if only the record exists, as after a kill at the start. A head proves that there was a journal. */
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

  /** Opens the journal for writing. `read` is its current content, undefined for a new one. */
  journal(loopId: string, read?: ReadJournal): Journal {
    this.#seen.delete(loopId)
    const [folder, copy, seal] = [this.folder(loopId), this.copy(loopId), this.requireSeal()]
    return new Journal({ loopId, folder, copy, seal, read })
  }

  /** Files of the copy in the project that differ from the original. */
  async copyDifferences(loopId: string): Promise<string[]> {
    // The process writes the report after it recorded the end of the loop.
    const pid = Number(await readLoopFile(this.folder(loopId), RUN_FILE))
    if (pid > 0 && (await this.find(loopId))?.pid === pid && isAlive(pid)) return []
    return this.copy(loopId).differences(this.folder(loopId))
  }

  forget(loopId: string): void {
    this.#kept.delete(loopId)
    this.#seen.delete(loopId)
  }
}

/** File with the pid of the process that writes the loop's files. */
export const RUN_FILE = 'run.pid'

const NO_STATS = { size: -1, ino: -1, mtimeMs: -1, ctimeMs: -1 }
