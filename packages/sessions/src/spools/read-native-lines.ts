import type { HarnessId } from '@chirality/core'
import { StorageError, withStorageErrors } from '@chirality/disk'
import { requireSessionId } from '../files/session-id.ts'
import type { SpoolLine } from './line-reader.ts'
import { MAX_PART_LINE_BYTES, PartLines, type PartPage } from './part-lines.ts'
import { findSpoolParts, type SpoolPart } from './spool-parts.ts'

/**
 * The output lines of a session's agents, from its spools, also while they are written, and for read-only processes.
 * Throws a StorageError `not-found` for a cursor whose spool is missing.
 */
export function readNativeLines(
  projectRoot: string,
  sessionId: string,
  options: NativeLinesOptions = {},
): Promise<NativePage> {
  return withStorageErrors(projectRoot, async () => {
    const parts = await findSpoolParts(projectRoot, requireSessionId(sessionId))
    const page = new PageBuilder(projectRoot, parts, options.maxBytes ?? DEFAULT_PAGE_BYTES)
    if (options.after !== undefined) return page.after(placeOf(parts, options.after))
    return page.before(options.before === undefined ? undefined : placeOf(parts, options.before))
  })
}

const DEFAULT_PAGE_BYTES = 256 * 1024
/** In a shared spool the lines of other sessions are skipped; after this much the caller has to ask again. */
const MAX_SCANNED_BYTES = 16 * 1024 * 1024

class PageBuilder {
  readonly #projectRoot: string
  readonly #parts: SpoolPart[]
  readonly #maxBytes: number
  readonly #problems: NativePage['problems'] = []
  #lines: NativeLine[] = []
  #bytes = 0
  #scanned = 0

  constructor(projectRoot: string, parts: SpoolPart[], maxBytes: number) {
    this.#projectRoot = projectRoot
    this.#parts = parts
    this.#maxBytes = maxBytes
  }

  /** Reads backwards from a position, or from the end. */
  async before(place: Place | undefined): Promise<NativePage> {
    const last = place?.index ?? this.#parts.length - 1
    let start: Place | undefined
    let end: Place | undefined = place
    for (let index = last; index >= 0 && !this.#isFull; index -= 1) {
      const part = this.#parts[index] as SpoolPart
      start = { index, offset: part.from }
      await this.#open(part, async lines => {
        let upTo = index === place?.index ? place.offset : lines.end
        end ??= { index, offset: upTo }
        while (upTo > part.from && !this.#isFull) {
          const page = await lines.before(upTo, this.#maxBytes - this.#bytes)
          this.#lines.unshift(...page.lines.map(line => toNativeLine(part, line)))
          this.#count(page)
          // Continuing from here reads the incomplete line again.
          if (page.torn !== undefined && place === undefined && index === last)
            end = { index, offset: page.torn }
          upTo = page.from
        }
        start = { index, offset: upTo }
      })
    }
    return this.#page({ start, end, more: place !== undefined })
  }

  async after(place: Place): Promise<NativePage> {
    let end = place
    for (let index = place.index; index < this.#parts.length && !this.#isFull; index += 1) {
      const part = this.#parts[index] as SpoolPart
      end = index === place.index ? place : { index, offset: part.from }
      await this.#open(part, async lines => {
        while (end.offset < lines.end && !this.#isFull) {
          const page = await lines.after(end.offset, this.#maxBytes - this.#bytes)
          this.#lines.push(...page.lines.map(line => toNativeLine(part, line)))
          this.#count(page)
          end = { index, offset: page.to }
          if (page.torn !== undefined) break
        }
      })
    }
    return this.#page({ start: place, end, more: this.#isFull })
  }

  get #isFull(): boolean {
    return this.#bytes >= this.#maxBytes || this.#scanned >= MAX_SCANNED_BYTES
  }

  /** An unreadable spool does not hide the others. */
  async #open(part: SpoolPart, read: (lines: PartLines) => Promise<void>): Promise<void> {
    let lines: PartLines
    try {
      lines = await PartLines.open(this.#projectRoot, part)
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      this.#problems.push({ turnId: part.turnId, message: error.message })
      return
    }
    await read(lines).finally(() => lines.close())
  }

  #count({ lines, scanned }: PartPage): void {
    for (const { bytes } of lines) this.#bytes += Math.min(bytes, MAX_PART_LINE_BYTES) + LINE_OVERHEAD_BYTES
    this.#scanned += scanned
  }

  #page(place: { start: Place | undefined; end: Place | undefined; more: boolean }): NativePage {
    const { start, end, more } = place
    const isFirst = start === undefined || (start.index === 0 && start.offset <= (this.#parts[0]?.from ?? 0))
    return {
      lines: this.#lines,
      before: isFirst ? null : this.#cursorAt(start),
      after: end === undefined ? null : this.#cursorAt(end),
      more,
      problems: this.#problems,
    }
  }

  #cursorAt({ index, offset }: Place): string {
    return cursorAt(this.#parts[index] as SpoolPart, offset)
  }
}

/** The size of a line beside its text. */
const LINE_OVERHEAD_BYTES = 200

function toNativeLine(part: SpoolPart, { offset, bytes, head, torn }: SpoolLine): NativeLine {
  const { turnId, harness, spool } = part
  const shown = head.subarray(0, MAX_PART_LINE_BYTES)
  const cut = bytes > shown.length
  const text = shown.toString('utf8')
  return {
    id: cursorAt(part, offset),
    turnId,
    harness,
    spool,
    offset,
    bytes,
    // Removes the character that the cut split.
    text: cut ? text.replace(/\uFFFD{1,3}$/, '') : text,
    cut,
    torn,
  }
}

/** A line that an agent printed, unchanged. Usually JSON, but not always. */
export interface NativeLine {
  /** The line's position, which is also a cursor. The id of a line never changes. */
  id: string
  turnId: string
  harness: HarnessId
  /** The name of the spool and the line's position in it. */
  spool: string
  offset: number
  bytes: number
  text: string
  /** `text` is only its beginning. */
  cut: boolean
  /** The spool ends in this line: it is incomplete or still being written. */
  torn: boolean
}

export interface NativePage {
  /** Oldest first. */
  lines: NativeLine[]
  /** The cursor for the previous page; null at the beginning. */
  before: string | null
  /** The cursor for the next page; null when the session has no spool. */
  after: string | null
  /** More lines are available after this page. */
  more: boolean
  /** Spools that cannot be read, and why. */
  problems: { turnId: string; message: string }[]
}

export interface NativeLinesOptions {
  /** Lines before or after this cursor. Default: the last ones. */
  before?: string
  after?: string
  /** The approximate amount to read; at least one line. */
  maxBytes?: number
}

/** A part of one line. */
export interface NativeText {
  id: string
  /** The length of the whole line. */
  bytes: number
  /** The position of this part in the line, and of the next one; null for the last. */
  from: number
  text: string
  next: number | null
  torn: boolean
}

export interface NativeLineOptions {
  id: string
  /** A byte position in the line: `next` of the previous part. */
  from?: number
  maxBytes?: number
}

/**
 * The text of one line of any length, in parts: pages hold only the beginning of a long line. Throws a StorageError
 * `not-found` where no line of the session starts.
 */
export function readNativeLine(
  projectRoot: string,
  sessionId: string,
  { id, from = 0, maxBytes = DEFAULT_PIECE_BYTES }: NativeLineOptions,
): Promise<NativeText> {
  return withStorageErrors(projectRoot, async () => {
    const parts = await findSpoolParts(projectRoot, requireSessionId(sessionId))
    const { index, offset } = placeOf(parts, id)
    const lines = await PartLines.open(projectRoot, parts[index] as SpoolPart)
    try {
      const line = await lines.lineAt(offset)
      if (line === undefined) throw placeGone()
      const { bytes, torn } = line
      const start = Math.min(from, bytes)
      const piece = await lines.bytes(offset + start, Math.min(maxBytes, bytes - start))
      const end = start + piece.length < bytes ? endOfCharacters(piece) : piece.length
      // Null when the file was truncated in the meantime; otherwise the caller would ask forever.
      const next = end > 0 && start + end < bytes ? start + end : null
      return { id, bytes, from: start, text: piece.toString('utf8', 0, end), next, torn }
    } finally {
      await lines.close()
    }
  })
}

const DEFAULT_PIECE_BYTES = 1024 * 1024

/**
 * The end before an incomplete last character, so that the joined parts are the text. The full length for data that is
 * not UTF-8.
 */
function endOfCharacters(bytes: Buffer): number {
  let at = bytes.length - 1
  while (at > bytes.length - 1 - MAX_CONTINUATIONS && isContinuation(bytes[at])) at -= 1
  const lead = bytes[at] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return at > 0 && at + length > bytes.length ? at : bytes.length
}

const MAX_CONTINUATIONS = 3

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

/** A part and a byte position in its spool. */
interface Place {
  index: number
  offset: number
}

function cursorAt({ spool }: SpoolPart, offset: number): string {
  return `${spool.slice(0, -ENDING.length)}.${offset}`
}

/** The turn of a byte can change: unread output after a turn belongs to the next turn, once there is one. */
function placeOf(parts: SpoolPart[], cursor: string): Place {
  const [, name, digits] = /^([A-Za-z0-9_-]{1,200})\.(\d{1,15})$/.exec(cursor) ?? []
  const offset = Number(digits)
  const index = parts.findLastIndex(({ spool, from }) => spool === `${name}${ENDING}` && from <= offset)
  if (index !== -1) return { index, offset }
  throw placeGone()
}

function placeGone(): StorageError {
  return new StorageError('not-found', '', 'That place in the raw log is gone. Read it again from its end.')
}

const ENDING = '.ndjson'
