import { basename } from 'node:path'
import type { HarnessId, TurnProcess } from '@chirality/core'
import { type FileOps, OPEN, openRegular, writeAll } from '@chirality/disk'
import { SessionStateFile } from '../files/session-state-file.ts'
import { parseObject } from './stored-session.ts'

/** The position of a turn's native lines. A turn has several if its agent was started again. */
export interface SpoolEntry {
  turnId: string
  at: string
  harness: HarnessId
  /** The name of the file in `logs/<harness>`. */
  spool: string
  from: number
  /** Set if other sessions share the spool: the conversations in it that belong to the turn. */
  nativeSessionIds?: string[]
}

/**
 * `.chirality/state/spools/<sessionId>.ndjson`: which spool each turn printed to, and at which offset. A turn's record
 * is deleted with the turn; this file stays.
 */
export class SpoolIndex extends SessionStateFile {
  readonly #known = new Set<string>()
  #path: string | undefined

  constructor(projectRoot: string, sessionId: string, ops?: FileOps) {
    super({ projectRoot, sessionId, ops }, { kind: 'spools', ending: '.ndjson' })
  }

  /** Has to be called first, because `add` is synchronous. Neither throws: a missing entry must not fail a turn. */
  async prepare(): Promise<void> {
    this.#path = await this.ensurePath().catch(() => undefined)
  }

  /** Without its entry a spool is still found by its name. */
  add(turn: { turnId: string; harness: HarnessId }, process: TurnProcess): void {
    const { spoolPath, spoolOffset: from, nativeSessionIds } = process
    const spool = basename(spoolPath)
    const key = `${turn.turnId} ${spool} ${from}`
    if (this.#path === undefined || this.#known.has(key)) return
    const { turnId, harness } = turn
    const at = new Date().toISOString()
    const shared = nativeSessionIds === undefined ? {} : { nativeSessionIds }
    const entry: SpoolEntry = { turnId, at, harness, spool, from, ...shared }
    try {
      this.#append(this.#path, entry)
      this.#known.add(key)
    } catch {
      // The disk is full, or the folder was deleted.
    }
  }

  /** In the order in which they were added. */
  async read(): Promise<SpoolEntry[]> {
    const text = (await this.readText(MAX_INDEX_BYTES)) ?? ''
    return text.split('\n').flatMap(parseEntry)
  }

  #append(path: string, entry: SpoolEntry): void {
    const fd = openRegular(this.ops, path, OPEN.appendOrCreate)
    try {
      // Begins on a new line, also after a line that a crash cut off.
      const begin = this.ops.stat(fd).size === 0 ? '' : '\n'
      writeAll(this.ops, fd, Buffer.from(`${begin}${JSON.stringify(entry)}`))
    } finally {
      this.ops.close(fd)
    }
  }
}

const MAX_INDEX_BYTES = 64 * 1024 * 1024

/** An agent can write to the file, so every entry that is not clearly valid is ignored. */
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
