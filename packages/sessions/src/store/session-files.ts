import { join } from 'node:path'
import type { FileOps } from '@chirality/disk'
import {
  readSmallFile,
  removeIfThere,
  setAside,
  TEMPORARY_NAME,
  toStorageError,
  writeFileAtomic,
} from '@chirality/disk'
import { ensureProjectFolder, findProjectFolder } from '../files/project-folder.ts'
import { isSessionId } from '../files/session-id.ts'
import { EVENTS_FOLDER } from '../log/session-log.ts'
import { formatSession, parseSession, type StoredSession } from './stored-session.ts'

export type ReadResult =
  | { kind: 'found'; session: StoredSession }
  | { kind: 'missing' }
  /** The file was no valid session; it was renamed to this. */
  | { kind: 'corrupt'; keptAs: string }

export interface FileStamp {
  /** Milliseconds; as precise as the file system. */
  time: number
  /** Different after every save. */
  ino: number
}

/**
 * The files `sessions/<id>.json` of one project. A file's modification time is the `updatedAt` of its session, so that
 * the newest are found without reading all.
 */
export class SessionFiles {
  readonly projectRoot: string
  readonly #ops: FileOps

  constructor(projectRoot: string, ops: FileOps) {
    this.projectRoot = projectRoot
    this.#ops = ops
  }

  async read(id: string): Promise<ReadResult> {
    const folder = await findProjectFolder(this.projectRoot, SESSIONS_FOLDER)
    if (folder === undefined) return { kind: 'missing' }
    const path = join(folder, `${id}.json`)
    try {
      const stats = this.#ops.lstat(path)
      if (stats === undefined) return { kind: 'missing' }
      // A link, a folder or an oversized file is no session either.
      const isReadable = stats.isFile() && stats.size <= MAX_SESSION_BYTES
      const session = isReadable ? this.#parse(path, id) : undefined
      return session === undefined ? this.#setAside(path) : { kind: 'found', session }
    } catch (error) {
      throw toStorageError(error, path)
    }
  }

  async write(session: StoredSession): Promise<void> {
    const folder = await ensureProjectFolder(this.projectRoot, SESSIONS_FOLDER)
    const path = join(folder, `${session.id}.json`)
    const modifiedAt = new Date(session.updatedAt)
    try {
      await writeFileAtomic(path, formatSession(session), { ops: this.#ops, modifiedAt })
    } catch (error) {
      throw toStorageError(error, path)
    }
  }

  async remove(id: string): Promise<void> {
    const folder = await findProjectFolder(this.projectRoot, SESSIONS_FOLDER)
    if (folder === undefined) return
    for (const name of this.#ops.readdir(folder)) {
      if (name.startsWith(`${id}.json`)) removeIfThere(this.#ops, join(folder, name))
    }
  }

  /**
   * All sessions but those whose file says that they are idle. Their text is not parsed: a project is opened for each
   * command, and may have thousands of them.
   */
  async notIdle(): Promise<string[]> {
    const sessions = await findProjectFolder(this.projectRoot, SESSIONS_FOLDER)
    const events = await findProjectFolder(this.projectRoot, EVENTS_FOLDER)
    const ids = new Set([...this.#ids(sessions, '.json'), ...this.#ids(events, '.ndjson')])
    return [...ids].filter(id => sessions === undefined || !this.#saysIdle(join(sessions, `${id}.json`)))
  }

  #saysIdle(path: string): boolean {
    try {
      const text = readSmallFile(this.#ops, path, MAX_SESSION_BYTES)
      return text?.includes(IDLE) ?? false
    } catch {
      // Whatever is wrong with it is found when it is read in full.
      return false
    }
  }

  /** The existing files by id. Undefined marks a session of which only the log is left. */
  async stamps(): Promise<Map<string, FileStamp | undefined>> {
    const sessions = await findProjectFolder(this.projectRoot, SESSIONS_FOLDER)
    const events = await findProjectFolder(this.projectRoot, EVENTS_FOLDER)
    const found = new Map<string, FileStamp | undefined>()
    for (const id of this.#ids(events, '.ndjson')) found.set(id, undefined)
    for (const id of this.#ids(sessions, '.json')) {
      const stamp = this.#stampIn(sessions ?? '', id)
      if (stamp !== undefined) found.set(id, stamp)
    }
    return found
  }

  async stamp(id: string): Promise<FileStamp | undefined> {
    const folder = await findProjectFolder(this.projectRoot, SESSIONS_FOLDER)
    return folder === undefined ? undefined : this.#stampIn(folder, id)
  }

  /** Changes whenever a session was added, saved or removed, by any process. */
  async version(): Promise<string> {
    const folder = await findProjectFolder(this.projectRoot, SESSIONS_FOLDER)
    const stats = folder === undefined ? undefined : this.#ops.lstat(folder)
    return `${stats?.ino}:${stats?.mtimeMs}`
  }

  #stampIn(folder: string, id: string): FileStamp | undefined {
    const stats = this.#ops.lstat(join(folder, `${id}.json`))
    return stats && { time: Math.round(stats.mtimeMs), ino: stats.ino }
  }

  #parse(path: string, id: string): StoredSession | undefined {
    const text = readSmallFile(this.#ops, path, MAX_SESSION_BYTES)
    return text && parseSession(text.toString('utf8'), { id, projectRoot: this.projectRoot })
  }

  #setAside(path: string): ReadResult {
    return { kind: 'corrupt', keptAs: setAside(path, 'corrupt', this.#ops) }
  }

  #ids(folder: string | undefined, ending: string): string[] {
    if (folder === undefined) return []
    return this.#ops.readdir(folder).flatMap(name => {
      if (TEMPORARY_NAME.test(name)) this.#removeOldTemporary(join(folder, name))
      const id = name.endsWith(ending) ? name.slice(0, -ending.length) : ''
      return isSessionId(id) ? [id] : []
    })
  }

  /** Left by a process that died while writing. */
  #removeOldTemporary(path: string): void {
    const stats = this.#ops.lstat(path)
    if (stats !== undefined && Date.now() - stats.ctimeMs > OLD_TEMPORARY_MS) removeIfThere(this.#ops, path)
  }
}

const SESSIONS_FOLDER = 'sessions'
/** A field of the outermost object, as `formatSession` writes it: no text inside a JSON string has a line break. */
const IDLE = '\n  "status": "idle"'
const MAX_SESSION_BYTES = 1024 * 1024
const OLD_TEMPORARY_MS = 60 * 60 * 1000
