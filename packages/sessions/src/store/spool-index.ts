import { basename, join } from 'node:path'
import type { HarnessId, TurnProcess } from '@chirality/core'
import { removeIfThere } from '../files/atomic-write.ts'
import { type FileOps, realFileOps } from '../files/file-ops.ts'
import { ensureProjectFolder, findProjectFolder } from '../files/project-folder.ts'
import { OPEN, openRegular, readSmallFile, writeAll } from '../files/read-write.ts'
import { requireSessionId } from '../files/session-id.ts'
import { toStorageError } from '../files/storage-error.ts'
import { parseObject } from './stored-session.ts'

/** Where the native lines of a turn begin. A turn has several when its agent was started again. */
export interface SpoolEntry {
  turnId: string
  at: string
  harness: HarnessId
  /** The name of the file in `logs/<harness>`. */
  spool: string
  from: number
  /** Set when the spool is shared with other sessions: the conversations in it that are the turn's. */
  nativeSessionIds?: string[]
}

/**
 * `.chirality/state/spools/<sessionId>.ndjson`: which spool each turn printed to, and from where. The trace of a turn goes
 * with the turn; this stays.
 */
export class SpoolIndex {
  readonly #projectRoot: string
  readonly #name: string
  readonly #ops: FileOps
  readonly #known = new Set<string>()
  #folder: string | undefined

  constructor(projectRoot: string, sessionId: string, ops: FileOps = realFileOps) {
    this.#projectRoot = projectRoot
    this.#name = `${requireSessionId(sessionId)}.ndjson`
    this.#ops = ops
  }

  /** Must come first: `add` cannot wait. Neither fails: no turn may, for what only tells where to look later. */
  async prepare(): Promise<void> {
    this.#folder = await ensureProjectFolder(this.#projectRoot, ...FOLDER).catch(() => undefined)
  }

  /** Without its entry a spool is still found by its name. */
  add(turn: { turnId: string; harness: HarnessId }, process: TurnProcess): void {
    const { spoolPath, spoolOffset: from, nativeSessionIds } = process
    const spool = basename(spoolPath)
    const key = `${turn.turnId} ${spool} ${from}`
    if (this.#folder === undefined || this.#known.has(key)) return
    const { turnId, harness } = turn
    const at = new Date().toISOString()
    const shared = nativeSessionIds === undefined ? {} : { nativeSessionIds }
    const entry: SpoolEntry = { turnId, at, harness, spool, from, ...shared }
    try {
      this.#append(join(this.#folder, this.#name), entry)
      this.#known.add(key)
    } catch {
      // A full disk, or somebody took the folder away.
    }
  }

  /** In the order they were added. */
  async read(): Promise<SpoolEntry[]> {
    const folder = await findProjectFolder(this.#projectRoot, ...FOLDER)
    if (folder === undefined) return []
    const path = join(folder, this.#name)
    try {
      const text = readSmallFile(this.#ops, path, MAX_INDEX_BYTES)?.toString('utf8') ?? ''
      return text.split('\n').flatMap(parseEntry)
    } catch (error) {
      throw toStorageError(error, path)
    }
  }

  async remove(): Promise<void> {
    const folder = await findProjectFolder(this.#projectRoot, ...FOLDER)
    if (folder !== undefined) removeIfThere(this.#ops, join(folder, this.#name))
  }

  #append(path: string, entry: SpoolEntry): void {
    const fd = openRegular(this.#ops, path, OPEN.appendOrCreate)
    try {
      // On a line of its own, also behind one that a crash cut off.
      const begin = this.#ops.stat(fd).size === 0 ? '' : '\n'
      writeAll(this.#ops, fd, Buffer.from(`${begin}${JSON.stringify(entry)}`))
    } finally {
      this.#ops.close(fd)
    }
  }
}

const FOLDER = ['state', 'spools']
const MAX_INDEX_BYTES = 64 * 1024 * 1024

/** An agent can write to the file: what is not clearly an entry is none. */
function parseEntry(line: string): SpoolEntry[] {
  const { turnId, at, harness, spool, from, nativeSessionIds } = parseObject(line) ?? {}
  if (!isText(turnId) || !isText(at) || !isText(harness) || !isText(spool)) return []
  if (typeof from !== 'number' || !Number.isSafeInteger(from) || from < 0) return []
  const isShared = Array.isArray(nativeSessionIds) && nativeSessionIds.every(isText)
  return [{ turnId, at, harness, spool, from, ...(isShared ? { nativeSessionIds } : {}) }]
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_TEXT_CHARS
}

const MAX_TEXT_CHARS = 300
