import { utf8 } from './utf8.ts'

export const DEFAULT_MAX_LINE_BYTES = 64 * 1024 * 1024

/** V8's longest string (2^29 - 24); a line never has more UTF-16 units than bytes. */
const MAX_STRING_BYTES = 0x1fffffe8

/**
 * `offset` is where the line starts in the stream. `bytes` is its length up to the newline and counts the CR of a
 * CRLF and a BOM, though `text` has neither: the next line starts at `offset + bytes + 1`.
 */
export type LineRecord =
  | { kind: 'line'; text: string; bytes: number; offset: number }
  | { kind: 'oversize'; bytes: number; offset: number }

export interface LineFramerOptions {
  /** A longer line is counted but not kept. Limited to the size of one string, about 512 MiB. */
  maxLineBytes?: number
}

/** Cuts a byte stream into lines at 0x0A, and only there: U+2028 and a bare CR are text. Blank lines are lines. */
export class LineFramer {
  readonly #maxLineBytes: number
  readonly #pending = new PendingBytes()
  #lineOffset = 0
  /** Bytes of the incomplete line. More than `#pending` holds if the line exceeds the limit and was dropped. */
  #lineBytes = 0

  constructor(options: LineFramerOptions = {}) {
    const { maxLineBytes = DEFAULT_MAX_LINE_BYTES } = options
    if (!(maxLineBytes >= 1)) throw new RangeError(`maxLineBytes must be at least 1, not ${maxLineBytes}`)
    this.#maxLineBytes = Math.min(maxLineBytes, MAX_STRING_BYTES)
  }

  /** The lines that this chunk completes. The framer copies the bytes it keeps, so the chunk may be reused. */
  push(chunk: Uint8Array): LineRecord[] {
    const view = utf8.view(chunk)
    const records: LineRecord[] = []
    let start = 0
    for (let newline = view.indexOf(NEWLINE); newline !== -1; newline = view.indexOf(NEWLINE, start)) {
      records.push(
        this.#lineBytes === 0 ? this.#whole(view, start, newline) : this.#last(view, start, newline),
      )
      start = newline + 1
    }
    this.#keep(start === 0 ? view : view.subarray(start))
    return records
  }

  /** The last line, if the stream ended without a newline. */
  end(): LineRecord[] {
    return this.#lineBytes === 0 ? [] : [this.#flush()]
  }

  /** A line that lies entirely inside one chunk: decoded in place, never copied. */
  #whole(view: Uint8Array, start: number, end: number): LineRecord {
    const offset = this.#lineOffset
    const bytes = end - start
    this.#lineOffset += bytes + 1
    if (bytes > this.#maxLineBytes) return { kind: 'oversize', bytes, offset }
    return { kind: 'line', text: lineText(view, { start, end, offset }), bytes, offset }
  }

  #last(view: Uint8Array, start: number, end: number): LineRecord {
    this.#keep(view.subarray(start, end))
    return this.#flush()
  }

  #keep(part: Uint8Array): void {
    this.#lineBytes += part.length
    if (this.#lineBytes <= this.#maxLineBytes) this.#pending.append(part)
    else this.#pending.clear()
  }

  #flush(): LineRecord {
    const offset = this.#lineOffset
    const bytes = this.#lineBytes
    this.#lineOffset += bytes + 1
    this.#lineBytes = 0
    if (bytes > this.#maxLineBytes) return { kind: 'oversize', bytes, offset }
    const text = lineText(this.#pending.view(), { start: 0, end: bytes, offset })
    this.#pending.clear()
    return { kind: 'line', text, bytes, offset }
  }
}

const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d
const BOM = [0xef, 0xbb, 0xbf]

/** The line without the CR of a CRLF and, at the start of the stream, without a BOM. */
function lineText(view: Uint8Array, line: { start: number; end: number; offset: number }): string {
  let { start, end } = line
  if (end > start && view[end - 1] === CARRIAGE_RETURN) end -= 1
  if (line.offset === 0 && end - start >= BOM.length && BOM.every((byte, i) => view[start + i] === byte))
    start += BOM.length
  return utf8.decode(view, start, end)
}

const INITIAL_BYTES = 4 * 1024
/** A larger buffer is released after its line: hundreds of idle framers must not each hold 64 MB. */
const KEEP_BYTES = 1024 * 1024
/**
 * Fresh memory costs a page fault where it is first written, and for a huge line those cost more than the copying:
 * doubling would write twice the line. Reserved memory that is never written is free, so large steps write it about
 * once; yet the engine counts it, and steps larger than this made it collect garbage once per line.
 */
const LARGE_STEP = 8

/**
 * The start of a line whose end has not arrived. It copies, so the caller may reuse its chunk, and grows by a factor,
 * so a line costs time in proportion to its size even when it comes byte by byte.
 */
export class PendingBytes {
  #buffer = utf8.view(new Uint8Array(0))
  #length = 0

  get length(): number {
    return this.#length
  }

  append(part: Uint8Array): void {
    const needed = this.#length + part.length
    if (needed > this.#buffer.length) this.#grow(needed)
    this.#buffer.set(part, this.#length)
    this.#length = needed
  }

  /** The buffer as a `utf8` view, its first `length` bytes filled: valid until the next `append` or `clear`. */
  view(): Uint8Array {
    return this.#buffer
  }

  clear(): void {
    this.#length = 0
    if (this.#buffer.length > KEEP_BYTES) this.#buffer = utf8.view(new Uint8Array(0))
  }

  #grow(needed: number): void {
    let capacity = Math.max(INITIAL_BYTES, this.#buffer.length)
    while (capacity < needed) capacity *= capacity < KEEP_BYTES ? 2 : LARGE_STEP
    const grown = utf8.view(new Uint8Array(capacity))
    grown.set(this.#buffer.subarray(0, this.#length))
    this.#buffer = grown
  }
}
