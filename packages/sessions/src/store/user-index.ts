import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import type { SessionMode } from '@chirality/core'
import type { FileOps } from '@chirality/disk'
import {
  ensurePrivateDirectory,
  errnoOf,
  readSmallFile,
  removeIfThere,
  toStorageError,
  writeFileAtomic,
} from '@chirality/disk'
import { isSessionId } from '../files/session-id.ts'
import { parseSettings, type SessionSettings } from './session-settings.ts'
import {
  isMode,
  parseCost,
  parseObject,
  parseShelf,
  type Shelf,
  type StoredSession,
  textOrNull,
} from './stored-session.ts'

/** The facts about a session that are stored outside its project and that its log lacks. */
export interface IndexEntry {
  id: string
  projectRoot: string
  createdAt: string
  persona: string | null
  mode: SessionMode
  title: string | null
  settings: SessionSettings
  shelf: Shelf
  /** For a session with a budget: its cost up to an event of its log. */
  spent?: SpentBy
}

export interface SpentBy extends Pick<StoredSession, 'ledger' | 'workedMs'> {
  lastSeq: number
}

/**
 * Which project a session belongs to, and which projects exist: `sessions/<id>.json` and `projects/<hash>.json` in the
 * user's data folder. One file each, because servers of several projects write here at the same time.
 */
export class UserIndex {
  readonly #folder: string
  readonly #ops: FileOps
  readonly #knownProjects = new Set<string>()

  constructor(folder: string, ops: FileOps) {
    this.#folder = folder
    this.#ops = ops
  }

  async put(session: StoredSession): Promise<void> {
    const { id, projectRoot, createdAt, persona, mode, title, settings, shelf } = session
    const { ledger, workedMs, lastSeq } = session
    const spent = { ledger, workedMs, lastSeq }
    const chosen = { persona, mode, title, settings, shelf }
    const entry: IndexEntry = { id, projectRoot, createdAt, ...chosen, spent }
    await this.#write('sessions', `${id}.json`, entry)
    await this.addProject(projectRoot)
  }

  get(id: string): IndexEntry | undefined {
    if (!isSessionId(id)) return undefined
    const value = this.#read('sessions', `${id}.json`)
    if (value === undefined || value.id !== id) return undefined
    const { projectRoot, createdAt, persona, mode, title } = value
    if (typeof projectRoot !== 'string' || !isAbsolute(projectRoot)) return undefined
    return {
      id,
      projectRoot,
      createdAt: textOrNull(createdAt) ?? new Date(0).toISOString(),
      persona: textOrNull(persona),
      mode: isMode(mode) ? mode : 'direct',
      title: textOrNull(title),
      settings: parseSettings(value.settings),
      shelf: parseShelf(value.shelf),
      ...parseSpent(value.spent),
    }
  }

  remove(id: string): void {
    removeIfThere(this.#ops, join(this.#folder, 'sessions', `${id}.json`))
  }

  async addProject(projectRoot: string): Promise<void> {
    if (this.#knownProjects.has(projectRoot)) return
    const name = `${createHash('sha256').update(projectRoot).digest('hex').slice(0, 32)}.json`
    if (this.#read('projects', name)?.projectRoot !== projectRoot) {
      await this.#write('projects', name, { projectRoot })
    }
    this.#knownProjects.add(projectRoot)
  }

  projects(): string[] {
    return this.#projectFiles().flatMap(name => {
      const projectRoot = name.endsWith('.json') ? this.#read('projects', name)?.projectRoot : undefined
      return typeof projectRoot === 'string' && isAbsolute(projectRoot) ? [projectRoot] : []
    })
  }

  #projectFiles(): string[] {
    const folder = join(this.#folder, 'projects')
    try {
      return this.#ops.lstat(folder) === undefined ? [] : this.#ops.readdir(folder)
    } catch (error) {
      throw toStorageError(error, folder)
    }
  }

  #read(kind: string, name: string): Record<string, unknown> | undefined {
    try {
      const text = readSmallFile(this.#ops, join(this.#folder, kind, name), MAX_ENTRY_BYTES)
      return text === undefined ? undefined : parseObject(text.toString('utf8'))
    } catch {
      // An entry that cannot be read is found again when its project is listed.
      return undefined
    }
  }

  async #write(kind: string, name: string, value: object): Promise<void> {
    const folder = join(this.#folder, kind)
    const path = join(folder, name)
    const text = `${JSON.stringify(value)}\n`
    try {
      await writeFileAtomic(path, text, { ops: this.#ops })
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw toStorageError(error, path)
      await this.#makeFolder(folder)
      await writeFileAtomic(path, text, { ops: this.#ops })
    }
  }

  async #makeFolder(folder: string): Promise<void> {
    try {
      await mkdir(dirname(this.#folder), { recursive: true })
      await ensurePrivateDirectory(this.#folder)
      await ensurePrivateDirectory(folder)
    } catch (error) {
      throw toStorageError(error, folder)
    }
  }
}

function parseSpent(value: unknown): Pick<IndexEntry, 'spent'> {
  if (typeof value !== 'object' || value === null) return {}
  const fields = value as Record<string, unknown>
  const { ledger, workedMs } = parseCost(fields)
  const lastSeq = Number.isSafeInteger(fields.lastSeq) ? Number(fields.lastSeq) : 0
  return { spent: { ledger, workedMs, lastSeq } }
}

const MAX_ENTRY_BYTES = 64 * 1024
