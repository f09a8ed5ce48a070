import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { HarnessId, ImportedSession, Session, SessionMode } from '@chirality/core'
import {
  copyCarefully,
  type FileOps,
  KeyedQueue,
  realFileOps,
  StorageError,
  withStorageErrors,
  writeFileAtomic,
} from '@chirality/disk'
import { CHIRALITY_FOLDER, ensureProjectFolder, realProjectRoot } from '../files/project-folder.ts'
import { requireSessionId } from '../files/session-id.ts'
import { userDataFolder } from '../files/user-data-folder.ts'
import { removeSessionLog } from '../log/open-logs.ts'
import { readSessionLog } from '../log/read-log.ts'
import { EVENTS_FOLDER } from '../log/session-log.ts'
import { SessionFold } from './fold-session.ts'
import { FORK_NOTICES, historyOfFork, requireForkable } from './fork-history.ts'
import { batchesOfLog, writeWholeLog } from './fork-log.ts'
import { comparePlaces, ProjectSessions, type SessionPlace } from './project-sessions.ts'
import { noteDeleted } from './project-state.ts'
import { hasBudget, type SessionSettings } from './session-settings.ts'
import { removeTraces } from './session-traces.ts'
import { type ForkHistory, formatSession, newSession, type StoredSession } from './stored-session.ts'
import { TurnImages } from './turn-images.ts'
import { UserIndex } from './user-index.ts'

export interface SessionStoreOptions {
  /** The user's data folder. Default: `CHIRALITY_HOME`, or the platform's usual folder. */
  home?: string
  /** Called before a session is deleted, to stop its work. */
  beforeDelete?: (sessionId: string) => Promise<void>
  now?: () => Date
  ops?: FileOps
}

export interface CreateOptions {
  /** A new UUID. Default: a random one. */
  id?: string
  title?: string
  harness?: HarnessId
  model?: string
  settings?: SessionSettings
  worktree?: string
}

export interface PageOptions {
  /** Default: every project in which the user has sessions. */
  projectRoot?: string
  /** Only sessions of these projects. A project that was moved away does not hide the others. */
  projectRoots?: readonly string[]
  /** Default 50. */
  limit?: number
  /** The end of the previous page. */
  cursor?: string
  /** Only these; a page is as full as without it. */
  isWanted?: (session: StoredSession) => boolean
}

export interface SessionPage {
  sessions: StoredSession[]
  /** Undefined on the last page. */
  nextCursor?: string
}

export interface ForkOptions {
  /** The last event that the fork shares. Default: all events. */
  atSeq?: number
  title?: string
  id?: string
  /** The worktree that the fork works in. Default: the project's folder. */
  worktree?: string | null
}

/**
 * Sessions of all projects, in `{projectRoot}/.chirality/`. The files are the truth; this class caches nothing that
 * outlives them.
 */
export class SessionStore {
  readonly #ops: FileOps
  readonly #now: () => Date
  readonly #beforeDelete: (sessionId: string) => Promise<void>
  readonly #userIndex: UserIndex
  readonly #projects = new Map<string, ProjectSessions>()
  readonly #queue = new KeyedQueue()

  constructor(options: SessionStoreOptions = {}) {
    this.#ops = options.ops ?? realFileOps
    this.#now = options.now ?? (() => new Date())
    this.#beforeDelete = options.beforeDelete ?? (async () => {})
    this.#userIndex = new UserIndex(options.home ?? userDataFolder(), this.#ops)
  }

  async create(
    projectRoot: string,
    persona: string | null,
    mode: SessionMode,
    options: CreateOptions = {},
  ): Promise<StoredSession> {
    const root = realProjectRoot(projectRoot)
    const createdAt = this.#now().toISOString()
    const id = requireSessionId(options.id ?? randomUUID())
    const session = newSession({ ...options, id, projectRoot: root, persona, mode, createdAt })
    await this.add(session)
    return session
  }

  /** Imports a native session, with its history. */
  async import({ session, envelopes }: ImportedSession): Promise<StoredSession> {
    const projectRoot = realProjectRoot(session.projectRoot)
    const id = requireSessionId(session.id)
    const empty = { ...newSession({ ...session, id, projectRoot }), claudeSessionId: session.claudeSessionId }
    const oneBatch = async function* () {
      yield envelopes
    }
    const imported = await writeWholeLog(oneBatch(), { ops: this.#ops, session: empty })
    const kept = { ...imported, claudeSessionId: session.claudeSessionId, updatedAt: session.updatedAt }
    await this.add(kept)
    return kept
  }

  /** Undefined if there is no such session. */
  get(sessionId: string): Promise<StoredSession | undefined> {
    return this.#inTurn(sessionId, async project => project?.get(sessionId))
  }

  /**
   * Whether this user has used the session in this exact folder. The files of a project can come from a checkout or an
   * archive; the entries in the user's own data folder cannot.
   */
  isOwn({ id, projectRoot }: Pick<StoredSession, 'id' | 'projectRoot'>): boolean {
    return this.#userIndex.get(id)?.projectRoot === projectRoot
  }

  async resume(sessionId: string): Promise<StoredSession> {
    const session = await this.get(sessionId)
    if (session !== undefined) return session
    throw notFound(sessionId)
  }

  /** Fields that `session` lacks keep their value. An `updatedAt` that was not changed becomes the current time. */
  async save(session: Session & Partial<StoredSession>): Promise<void> {
    await this.#change(session.id, stored => {
      const untouched = session.updatedAt === stored.updatedAt
      const updatedAt = untouched ? this.#now().toISOString() : session.updatedAt
      return { ...stored, ...session, updatedAt }
    })
  }

  /** Changes some fields without moving the session in the list, unless `updatedAt` is one of them. */
  update(sessionId: string, changes: Partial<StoredSession>): Promise<StoredSession> {
    return this.#change(sessionId, stored => ({ ...stored, ...changes }))
  }

  async rename(sessionId: string, title: string): Promise<StoredSession> {
    const session = await this.update(sessionId, { title: title.trim() || null })
    await this.#userIndex.put(session)
    return session
  }

  /** Stores the cost of a session with a budget where its agents cannot write. */
  async noteSpent(session: StoredSession): Promise<void> {
    if (session.persona !== null || hasBudget(session.settings)) await this.#userIndex.put(session)
  }

  /** Stores what a person chose, also where it outlives the files of the project. */
  async choose(
    sessionId: string,
    chosen: Partial<Pick<StoredSession, 'settings' | 'mode' | 'shelf'>>,
  ): Promise<StoredSession> {
    const session = await this.update(sessionId, chosen)
    await this.#userIndex.put(session)
    return session
  }

  /** All sessions, newest first. Use `page` for long lists. */
  async list(projectRoot?: string): Promise<StoredSession[]> {
    const { sessions } = await this.page({ limit: Number.POSITIVE_INFINITY, projectRoot })
    return sessions
  }

  /** The sessions of a project that are not idle. The others are not read. */
  async atWork(projectRoot: string): Promise<string[]> {
    const root = realProjectRoot(projectRoot)
    return withStorageErrors(root, () => this.#project(root).atWork())
  }

  /** Newest first. */
  async page(options: PageOptions = {}): Promise<SessionPage> {
    const { projectRoot, limit = DEFAULT_PAGE, isWanted } = options
    const after = parseCursor(options.cursor)
    const all = options.projectRoots ?? this.#userIndex.projects()
    const roots = projectRoot === undefined ? all : [realProjectRoot(projectRoot)]
    const pages = await Promise.all(
      roots.map(root =>
        withStorageErrors(root, () => this.#project(root).page(limit + 1, { after, isWanted })).catch(
          (error: unknown) => {
            // A project that was moved away must not hide the others.
            if (projectRoot !== undefined || !(error instanceof StorageError)) throw error
            return []
          },
        ),
      ),
    )
    const listed = pages.flat().sort((a, b) => comparePlaces(a.place, b.place))
    const sessions = listed.slice(0, limit).map(({ session }) => ({ ...session }))
    const last = listed[limit - 1]?.place
    return last !== undefined && listed.length > limit
      ? { sessions, nextCursor: formatCursor(last) }
      : { sessions }
  }

  /**
   * A new session with the same history, up to an event. `forkedFrom.history` says what its agent gets: at the end of
   * the conversation all of it; before that, the conversation up to there if the agent can cut it, else a transcript.
   */
  async fork(sessionId: string, options: ForkOptions = {}): Promise<StoredSession> {
    const { atSeq, title, id = randomUUID(), worktree } = options
    const source = await this.resume(sessionId)
    if (worktree === undefined) requireForkable(source)
    const { projectRoot, persona, mode, harness, model, settings } = source
    const log = await readSessionLog(projectRoot, sessionId, this.#ops)
    const createdAt = this.#now().toISOString()
    const lastSeq = Math.max(0, Math.min(atSeq ?? Number.POSITIVE_INFINITY, log?.lastSeq ?? 0))
    const empty = newSession({
      id: requireSessionId(id),
      projectRoot,
      persona,
      mode,
      createdAt,
      harness,
      model,
      settings,
      title: title ?? (source.title === null ? null : `${source.title} (fork)`),
      ...(worktree === undefined ? {} : { worktree }),
    })
    try {
      const found = historyOfFork(log, lastSeq, source, empty.worktree)
      const origin = { sessionId, seq: lastSeq, ...found }
      let { history } = found
      const closing = ({ turnCount }: StoredSession) => {
        if (turnCount === 0) {
          history = 'whole'
          return undefined
        }
        return FORK_NOTICES[history](empty.id, origin)
      }
      const copied = log
        ? await writeWholeLog(batchesOfLog(log, lastSeq), { ops: this.#ops, session: empty, closing })
        : empty
      const forkedFrom = { ...origin, history }
      // Two conversations must not continue under one native id; the harness creates a new one from `forkedFrom`.
      const fork = { ...copied, claudeSessionId: null, updatedAt: createdAt, forkedFrom }
      await this.add(fork)
      await new TurnImages(projectRoot, sessionId, this.#ops).copyTo(fork.id)
      return fork
    } finally {
      log?.close()
    }
  }

  /** What the agent of such a fork would get. Creates nothing. */
  async forkHistory(sessionId: string, { atSeq }: Pick<ForkOptions, 'atSeq'> = {}): Promise<ForkHistory> {
    const source = await this.resume(sessionId)
    const log = await readSessionLog(source.projectRoot, sessionId, this.#ops)
    try {
      const lastSeq = log?.lastSeq ?? 0
      return historyOfFork(log, Math.min(atSeq ?? lastSeq, lastSeq), source, null).history
    } finally {
      log?.close()
    }
  }

  /** A session that an earlier version stored lacks the times of its spends: they are read from its log, once. */
  async withSpends(session: StoredSession): Promise<StoredSession> {
    if (session.progress.spends !== null) return session
    const log = await readSessionLog(session.projectRoot, session.id, this.#ops)
    try {
      const fold = new SessionFold(newSession(session))
      if (log !== undefined) for await (const page of batchesOfLog(log, session.lastSeq)) fold.add(page)
      const { spends } = fold.summary
      const dated = (stored: StoredSession) =>
        stored.lastSeq === session.lastSeq ? { ...stored, progress: { ...stored.progress, spends } } : stored
      // On a full disk it is read again the next time.
      await this.#change(session.id, dated).catch(() => {})
      return dated(session)
    } finally {
      log?.close()
    }
  }

  /** Stops the session's work, and deletes all its files, raw logs included. */
  async delete(sessionId: string): Promise<void> {
    if (this.#projectOf(sessionId) === undefined) return
    await this.#beforeDelete(sessionId)
    await this.#inTurn(sessionId, async project => {
      if (project === undefined) return
      const { projectRoot } = project.files
      // Only a note for people: whatever is wrong with it must not keep a session from being deleted.
      const { updatedAt, costUsd, tokens } = (await project.get(sessionId).catch(() => undefined)) ?? NOTHING
      if (tokens > 0 || costUsd)
        await noteDeleted(projectRoot, { updatedAt, usd: costUsd ?? 0, tokens }).catch(() => {})
      // The log is deleted first: a session without a log can be deleted again, but a log without a session would
      // restore it.
      await removeSessionLog(projectRoot, sessionId, this.#ops)
      await removeTraces({ projectRoot, sessionId, ops: this.#ops }, 'remove')
      await project.remove(sessionId)
      this.#userIndex.remove(sessionId)
    })
  }

  /**
   * Takes a session that another machine has now out of the lists. Its log and its file stay in `.chirality/moved/`, its
   * raw logs where they are.
   */
  async leave(sessionId: string, name: string): Promise<void> {
    await this.#beforeDelete(sessionId)
    await this.#inTurn(sessionId, async project => {
      if (project === undefined) return
      const { projectRoot } = project.files
      const folder = await ensureProjectFolder(projectRoot, 'moved')
      const session = await project.get(sessionId)
      const log = join(projectRoot, CHIRALITY_FOLDER, EVENTS_FOLDER, `${sessionId}.ndjson`)
      if (this.#ops.lstat(log)?.isFile()) await copyCarefully(log, join(folder, `${name}.ndjson`))
      if (session !== undefined)
        await writeFileAtomic(join(folder, `${name}.json`), formatSession(session), { ops: this.#ops })
      await removeSessionLog(projectRoot, sessionId, this.#ops)
      await removeTraces({ projectRoot, sessionId, ops: this.#ops }, 'keep')
      await project.remove(sessionId)
      this.#userIndex.remove(sessionId)
    })
  }

  /** A session that is whole already, with its log. */
  add(session: StoredSession): Promise<void> {
    return withStorageErrors(session.projectRoot, async () => {
      await this.#project(session.projectRoot).write(session)
      await this.#userIndex.put(session)
    })
  }

  #change(sessionId: string, change: (stored: StoredSession) => StoredSession): Promise<StoredSession> {
    return this.#inTurn(sessionId, async project => {
      const stored = await project?.get(sessionId)
      if (project === undefined || stored === undefined) throw notFound(sessionId)
      // Neither can change, because they determine the file's path.
      const changed = { ...change(stored), id: stored.id, projectRoot: stored.projectRoot }
      await project.write(changed)
      return changed
    })
  }

  /** Runs one operation at a time for a session. */
  #inTurn<T>(sessionId: string, work: (project: ProjectSessions | undefined) => Promise<T>): Promise<T> {
    return withStorageErrors(sessionId, () =>
      this.#queue.run(sessionId, async () => work(this.#projectOf(sessionId))),
    )
  }

  #project(projectRoot: string): ProjectSessions {
    const known = this.#projects.get(projectRoot)
    if (known !== undefined) return known
    const project = new ProjectSessions(projectRoot, this.#userIndex, this.#ops)
    this.#projects.set(projectRoot, project)
    return project
  }

  /** Looked up in the user's index; for a session that it lacks, in the projects that are in use. */
  #projectOf(sessionId: string): ProjectSessions | undefined {
    requireSessionId(sessionId)
    const projectRoot = this.#userIndex.get(sessionId)?.projectRoot
    if (projectRoot !== undefined && this.#ops.lstat(projectRoot) !== undefined)
      return this.#project(projectRoot)
    const roots = new Set([...this.#projects.keys(), ...this.#userIndex.projects()])
    const root = [...roots].find(candidate => this.#holds(candidate, sessionId))
    return root === undefined ? undefined : this.#project(root)
  }

  #holds(projectRoot: string, sessionId: string): boolean {
    const files = [`sessions/${sessionId}.json`, `events/${sessionId}.ndjson`]
    return files.some(file => this.#ops.lstat(join(projectRoot, '.chirality', file)) !== undefined)
  }
}

const DEFAULT_PAGE = 50
const NOTHING = { updatedAt: '', costUsd: 0, tokens: 0 }

function notFound(sessionId: string): StorageError {
  return new StorageError('not-found', '', `There is no session ${JSON.stringify(sessionId.slice(0, 80))}.`)
}

function formatCursor({ time, id }: SessionPlace): string {
  return `${time}_${id}`
}

function parseCursor(cursor: string | undefined): SessionPlace | undefined {
  if (cursor === undefined) return undefined
  const [, time, id] = /^(\d{1,16})_([A-Za-z0-9_-]{1,64})$/.exec(cursor) ?? []
  if (time !== undefined && id !== undefined) return { time: Number(time), id }
  throw new StorageError(
    'invalid-id',
    '',
    `${JSON.stringify(cursor.slice(0, 80))} is not a cursor of this list.`,
  )
}
