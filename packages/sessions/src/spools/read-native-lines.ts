import { requireSessionId } from '../files/session-id.ts'
import { StorageError, withStorageErrors } from '../files/storage-error.ts'
import { cursorAt, type Place, placeOf } from './cursor.ts'
import type { SpoolLine } from './line-reader.ts'
import type { NativeLine, NativeLinesOptions, NativePage } from './native-page.ts'
import { MAX_LINE_BYTES, PartLines, type PartPage } from './part-lines.ts'
import { findSpoolParts, type SpoolPart } from './spool-parts.ts'

/**
 * What the agents of a session printed, line by line, out of its spools: also while they print, and for whoever only reads.
 * Throws a StorageError `not-found` for a cursor whose spool is gone.
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
/** In a spool that is shared, the lines of others are read over; the caller asks again for more. */
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

  /** Upwards from a place, or from the end. */
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
          // Whoever goes on from here reads the line that is not finished again.
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

  /** A spool that cannot be read hides no other. */
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
    for (const { bytes } of lines) this.#bytes += Math.min(bytes, MAX_LINE_BYTES) + LINE_OVERHEAD_BYTES
    this.#scanned += scanned
  }

  #page(place: { start: Place | undefined; end: Place | undefined; more: boolean }): NativePage {
    const { start, end, more } = place
    const isFirst = start === undefined || (start.index === 0 && start.offset <= (this.#parts[0]?.from ?? 0))
    return {
      lines: this.#lines,
      before: isFirst ? null : this.#cursorAt(start),
      after: end === undefined ? null : this.#cursorAt(end),
      ...{ more, problems: this.#problems },
    }
  }

  #cursorAt({ index, offset }: Place): string {
    return cursorAt(this.#parts[index] as SpoolPart, offset)
  }
}

/** What a line costs beside its text. */
const LINE_OVERHEAD_BYTES = 200

function toNativeLine(part: SpoolPart, { offset, bytes, head, torn }: SpoolLine): NativeLine {
  const { turnId, harness, spool } = part
  const shown = head.subarray(0, MAX_LINE_BYTES)
  const cut = bytes > shown.length
  const text = shown.toString('utf8')
  return {
    ...{ id: cursorAt(part, offset), turnId, harness, spool, offset, bytes },
    // A character that the cut went through is not one of the line's.
    text: cut ? text.replace(/\uFFFD{1,3}$/, '') : text,
    ...{ cut, torn },
  }
}
