import { costSoFar } from '@chirality/core'
import type { FileOps } from '@chirality/disk'
import { KeyedQueue, StorageError } from '@chirality/disk'
import { pagesAfter } from '../log/pages.ts'
import { readSessionLog } from '../log/read-log.ts'
import { SessionFold } from './fold-session.ts'
import { type FileStamp, SessionFiles } from './session-files.ts'
import { narrowBudgets } from './session-settings.ts'
import { newSession, type StoredSession } from './stored-session.ts'
import type { IndexEntry, UserIndex } from './user-index.ts'

/** A position in a list, newest first. */
export interface SessionPlace {
  time: number
  id: string
}

export interface Listed {
  place: SessionPlace
  session: StoredSession
}

/** The sessions of one project, and their order in memory, so that a page reads only the sessions on it. */
export class ProjectSessions {
  readonly files: SessionFiles
  readonly #ops: FileOps
  readonly #userIndex: UserIndex
  readonly #writes = new KeyedQueue()
  #stamps = new Map<string, FileStamp>()
  /** The state of the folder that `#stamps` reflects. */
  #version: string | undefined
  #order: SessionPlace[] | undefined
  readonly #cache = new Map<string, StoredSession>()

  constructor(projectRoot: string, userIndex: UserIndex, ops: FileOps) {
    this.files = new SessionFiles(projectRoot, ops)
    this.#userIndex = userIndex
    this.#ops = ops
  }

  /** Read from its file; a missing or damaged file is rebuilt from the log. */
  async get(id: string): Promise<StoredSession | undefined> {
    const result = await this.files.read(id)
    const { projectRoot } = this.files
    const entry = this.#userIndex.get(id)
    const mine = entry?.projectRoot === projectRoot ? entry : undefined
    const isBehind = result.kind === 'found' && result.session.lastSeq < (mine?.spent?.lastSeq ?? 0)
    if (result.kind === 'found' && !isBehind) return asTheUserKnows(result.session, mine)
    const rebuilt = await rebuildSession({ id, projectRoot, entry: mine, ops: this.#ops })
    const session = rebuilt && asTheUserKnows(rebuilt, mine)
    if (session !== undefined) await this.write(session)
    return session
  }

  write(session: StoredSession): Promise<void> {
    return this.#enter(session.id, () => this.files.write(session))
  }

  remove(id: string): Promise<void> {
    return this.#enter(id, () => this.files.remove(id))
  }

  /**
   * Enters this process's own changes into the list; without that, each would make the next page check every file
   * again.
   */
  #enter(id: string, change: () => Promise<void>): Promise<void> {
    return this.#writes.run('', async () => {
      const known = this.#version !== undefined && (await this.files.version()) === this.#version
      await change()
      if (!known) return
      const stamp = await this.files.stamp(id)
      if (stamp === undefined) this.#stamps.delete(id)
      else this.#stamps.set(id, stamp)
      this.#cache.delete(id)
      this.#order = undefined
      this.#version = await this.files.version()
    })
  }

  /**
   * Up to `limit` sessions after `after`, newest first. An unreadable session is left out and does not affect the
   * others.
   */
  async page(limit: number, part: PagePart = {}): Promise<Listed[]> {
    const page = await this.#collect(await this.#places(), limit, part)
    if (page.every(({ place, session }) => Math.abs(place.time - timeOf(session)) < COARSE_MS)) return page
    // The files were copied or restored: their times mean nothing any more.
    await this.#correctTimes()
    return this.#collect(await this.#places(), limit, part)
  }

  /** The ids of the sessions that are not idle, by their files or else by their logs. */
  async atWork(): Promise<string[]> {
    const ids: string[] = []
    for (const id of await this.files.notIdle()) {
      const session = await this.#cached(id)
      if (session !== undefined && session.status !== 'idle') ids.push(id)
    }
    return ids
  }

  async #collect(order: SessionPlace[], limit: number, { after, isWanted }: PagePart): Promise<Listed[]> {
    const found: Listed[] = []
    for (const place of order.slice(firstAfter(order, after))) {
      if (found.length >= limit) break
      const session = await this.#cached(place.id)
      if (session !== undefined && (isWanted?.(session) ?? true)) found.push({ place, session })
    }
    return found
  }

  async #places(): Promise<SessionPlace[]> {
    if (this.#version === undefined || (await this.files.version()) !== this.#version) await this.#load()
    this.#order ??= Array.from(this.#stamps, ([id, { time }]) => ({ id, time })).sort(comparePlaces)
    return this.#order
  }

  async #load(): Promise<void> {
    const logOnly = await this.#writes.run('', async () => {
      // The version is read first: a change during the scan is then noticed at the next one.
      this.#version = await this.files.version()
      const stamps = await this.files.stamps()
      this.#adopt(stamps)
      return [...stamps].flatMap(([id, stamp]) => (stamp === undefined ? [id] : []))
    })
    for (const id of logOnly) await this.get(id).catch(() => undefined)
  }

  /** Forgets the cached state of files that have changed. */
  #adopt(stamps: Map<string, FileStamp | undefined>): void {
    for (const id of this.#cache.keys()) {
      if (stamps.get(id)?.ino !== this.#stamps.get(id)?.ino) this.#cache.delete(id)
    }
    this.#order = undefined
    this.#stamps = new Map()
    for (const [id, stamp] of stamps) if (stamp !== undefined) this.#stamps.set(id, stamp)
  }

  async #cached(id: string): Promise<StoredSession | undefined> {
    const cached = this.#cache.get(id)
    if (cached !== undefined) return cached
    try {
      const session = await this.get(id)
      if (session !== undefined) this.#cache.set(id, session)
      return session
    } catch (error) {
      if (error instanceof StorageError) return undefined
      throw error
    }
  }

  async #correctTimes(): Promise<void> {
    for (const [id, { time }] of [...this.#stamps]) {
      const session = await this.#cached(id)
      if (session === undefined || Math.abs(timeOf(session) - time) < COARSE_MS) continue
      // In a read-only folder the order stays as it is.
      await this.write(session).catch(() => {})
    }
  }
}

interface PagePart {
  after?: SessionPlace | undefined
  isWanted?: ((session: StoredSession) => boolean) | undefined
}

/** Agents can write the project's files: there a session's budget can only be lowered, and its cost only raised. */
function asTheUserKnows(session: StoredSession, entry: IndexEntry | undefined): StoredSession {
  if (entry === undefined) return session
  const known = { ...session, settings: narrowBudgets(session.settings, entry.settings) }
  const { spent } = entry
  if (spent === undefined) return known
  const { highUsd, highTokens } = session.ledger
  if (spent.ledger.highUsd > highUsd || spent.ledger.highTokens > highTokens) {
    const { usd: costUsd, isEstimate: costIsEstimate, tokens } = costSoFar(spent.ledger)
    Object.assign(known, { ledger: spent.ledger, costUsd, costIsEstimate, tokens })
  }
  return { ...known, workedMs: Math.max(known.workedMs, spent.workedMs) }
}

/** Newest first; equal times are ordered by id, so that a cursor is one position. */
export function comparePlaces(a: SessionPlace, b: SessionPlace): number {
  return b.time - a.time || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

/** Some file systems store times only to two seconds. */
const COARSE_MS = 2001

function timeOf(session: StoredSession): number {
  return Date.parse(session.updatedAt)
}

function firstAfter(order: SessionPlace[], after: SessionPlace | undefined): number {
  if (after === undefined) return 0
  let low = 0
  let high = order.length
  while (low < high) {
    const middle = (low + high) >> 1
    const place = order[middle]
    if (place !== undefined && comparePlaces(place, after) <= 0) low = middle + 1
    else high = middle
  }
  return low
}

interface RebuildOptions {
  id: string
  projectRoot: string
  /** The fields that the user's index knows: persona, mode and a given title. */
  entry: IndexEntry | undefined
  ops: FileOps
}

/** Rebuilds a session from its log if its file is missing or damaged; undefined if the log is missing too. */
async function rebuildSession({
  id,
  projectRoot,
  entry,
  ops,
}: RebuildOptions): Promise<StoredSession | undefined> {
  const log = await readSessionLog(projectRoot, id, ops)
  if (log === undefined) return entry && newSession({ ...entry, projectRoot })
  try {
    const createdAt = entry?.createdAt ?? log.readAfter(0, 1)[0]?.at ?? new Date().toISOString()
    const { persona = null, mode = 'direct', title = null, settings, shelf } = entry ?? {}
    const chosen = { persona, mode, title, settings, shelf }
    const fold = new SessionFold(newSession({ id, projectRoot, createdAt, ...chosen }))
    for await (const page of pagesAfter(log, 0)) fold.add(page)
    return fold.session
  } finally {
    log.close()
  }
}
