import { join } from 'node:path'
import { StorageError, toStorageError } from '@chirality/disk'
import { ThreadLines } from '@chirality/runner'
import { findProjectFolder } from '../files/project-folder.ts'
import { LineReader, type SpoolLine } from './line-reader.ts'
import type { SpoolPart } from './spool-parts.ts'

export interface PartPage {
  lines: SpoolLine[]
  /** The start and end of the page in the spool. */
  from: number
  to: number
  /** The number of bytes read. */
  scanned: number
  /** The start of an incomplete line. */
  torn: number | undefined
}

/** Reads the lines of one spool part that belong to its session, in pages. */
export class PartLines {
  readonly #part: SpoolPart
  readonly #reader: LineReader
  readonly #path: string

  private constructor(part: SpoolPart, path: string, reader: LineReader) {
    this.#part = part
    this.#path = path
    this.#reader = reader
  }

  /** Throws a StorageError when the spool cannot be read. */
  static async open(projectRoot: string, part: SpoolPart): Promise<PartLines> {
    const folder = await findProjectFolder(projectRoot, 'logs', part.harness)
    const path = join(folder ?? '', part.spool)
    try {
      if (folder === undefined) throw lost(part.spool, 'is gone')
      const reader = await LineReader.open(path)
      if (reader.size >= part.from) return new PartLines(part, path, reader)
      await reader.close()
      throw lost(part.spool, 'was cut')
    } catch (error) {
      const known = toStorageError(error, path)
      throw known.code === 'not-found' ? lost(part.spool, 'is gone') : known
    }
  }

  close(): Promise<void> {
    return this.#reader.close()
  }

  get end(): number {
    return Math.min(this.#part.to ?? this.#reader.size, this.#reader.size)
  }

  async after(from: number, maxBytes: number): Promise<PartPage> {
    const filter = await this.#filter(from)
    return this.#read(Math.max(from, this.#part.from), { maxBytes, filter })
  }

  async before(upTo: number, maxBytes: number): Promise<PartPage> {
    const end = Math.min(upTo, this.end)
    const floor = this.#part.from
    if (end <= floor) return { lines: [], from: floor, to: floor, scanned: 0, torn: undefined }
    const start = await this.#reader.startBefore({ floor, end, maxBytes, maxLines: MAX_LINES })
    const filter = await this.#filter(start)
    const page = await this.#read(start, { maxBytes: end - start, filter, to: end })
    return { ...page, to: end }
  }

  /** The line at a byte position; undefined when no line starts there, or it belongs to another session. */
  async lineAt(offset: number): Promise<SpoolLine | undefined> {
    if (offset !== this.#part.from && !(await this.#reader.endsLine(offset - 1))) return undefined
    const { lines } = await this.after(offset, 1)
    return lines[0]?.offset === offset ? lines[0] : undefined
  }

  bytes(position: number, length: number): Promise<Buffer> {
    return this.#reader.bytes(position, length)
  }

  async #read(
    from: number,
    { maxBytes, filter, to }: { maxBytes: number; filter: ThreadLines | undefined; to?: number },
  ): Promise<PartPage> {
    const headBytes = filter ? MAX_PARSED_BYTES : MAX_PART_LINE_BYTES
    const end = to !== undefined && to < this.end ? to : this.#part.to
    const { lines, next } = await this.#reader.read({
      from,
      to: end,
      maxBytes,
      maxLines: MAX_LINES,
      headBytes,
    })
    const ours = filter ? lines.filter(line => filter.isOurs(line.head)) : lines
    return { lines: ours, from, to: next, scanned: next - from, torn: lines.find(line => line.torn)?.offset }
  }

  /** Undefined when the session owns the whole spool. Otherwise a filter that has processed all earlier lines. */
  async #filter(upTo: number): Promise<ThreadLines | undefined> {
    const { nativeSessionIds, from } = this.#part
    if (nativeSessionIds === undefined) return undefined
    const known = knownFilter(`${nativeSessionIds[0]} ${from} ${this.#path}`, () => ({
      filter: new ThreadLines(nativeSessionIds),
      seenTo: from,
    }))
    while (known.seenTo < upTo) {
      const range = { from: known.seenTo, to: upTo, maxBytes: SCAN_BYTES, maxLines: Number.POSITIVE_INFINITY }
      const { lines, next } = await this.#reader.read({ ...range, headBytes: MAX_PARSED_BYTES })
      for (const { head } of lines) if (head.includes('"parentThreadId":"')) known.filter.isOurs(head)
      if (next <= range.from) break
      known.seenTo = Math.max(known.seenTo, next)
    }
    return known.filter
  }
}

interface SeenFilter {
  filter: ThreadLines
  /** All child threads are known up to this position. */
  seenTo: number
}

/**
 * A filter only accumulates, so all readers of a part share one. Without it, a reader that follows a turn would read
 * its spool from the start each time.
 */
const filters = new Map<string, SeenFilter>()
const MAX_FILTERS = 64

function knownFilter(key: string, make: () => SeenFilter): SeenFilter {
  const known = filters.get(key) ?? make()
  filters.delete(key)
  filters.set(key, known)
  for (const oldest of filters.keys()) {
    if (filters.size <= MAX_FILTERS) break
    filters.delete(oldest)
  }
  return known
}

/** More than a screen shows of a line. */
export const MAX_PART_LINE_BYTES = 64 * 1024
/** A line of a shared spool is shown only if it can be parsed and attributed. */
const MAX_PARSED_BYTES = 16 * 1024 * 1024
const MAX_LINES = 1000
const SCAN_BYTES = 4 * 1024 * 1024

function lost(spool: string, what: string): StorageError {
  return new StorageError(
    'lost',
    spool,
    `The raw log ${spool} ${what}: what the agent printed cannot be shown.`,
  )
}
