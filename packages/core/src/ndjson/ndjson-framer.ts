import { LineFramer, type LineFramerOptions, type LineRecord } from './line-framer.ts'

/** How much of a malformed line its record contains; the spool has the rest at `offset`. */
export const MALFORMED_TEXT_CHARS = 4096

/** `offset` is the byte offset of the line in the stream, `bytes` its length without the newline. */
export type NdjsonRecord =
  | { kind: 'json'; value: unknown; bytes: number; offset: number }
  /**
   * With `lines` it stands for that many consecutive malformed lines, with `text` and `error` of the first. `isTorn`:
   * an object that breaks off at the end of the stream, or before a complete one on its line, because a write failed;
   * the rest of it is lost.
   */
  | {
      kind: 'malformed'
      text: string
      bytes: number
      offset: number
      error: string
      lines?: number
      isTorn?: true
    }
  | { kind: 'oversize'; bytes: number; offset: number }

export type NdjsonFramerOptions = LineFramerOptions

/**
 * Bytes to JSON values, one for each line. No input makes it throw: a line that is not JSON becomes a `malformed`
 * record, a line over the limit an `oversize` record, and reading goes on. Blank lines are skipped. Of many consecutive
 * malformed lines the first become records of their own, and the others share records: 20 MB of short junk lines must
 * not become a million events. The grouping depends on the lines alone, not on the chunks.
 */
export class NdjsonFramer {
  readonly #lines: LineFramer
  /** The number of consecutive malformed lines so far. */
  #inRow = 0
  #together: (NdjsonRecord & { kind: 'malformed'; lines: number }) | undefined

  constructor(options: NdjsonFramerOptions = {}) {
    this.#lines = new LineFramer(options)
  }

  push(chunk: Uint8Array): NdjsonRecord[] {
    return this.#parse(this.#lines.push(chunk))
  }

  /** The last line, if the stream ended without a newline. */
  end(): NdjsonRecord[] {
    const records = this.#parse(this.#lines.end())
    this.#endRow(records)
    return records.map(record =>
      record.kind === 'malformed' && record.text.startsWith(OBJECT_START)
        ? { ...record, isTorn: true }
        : record,
    )
  }

  #parse(lines: LineRecord[]): NdjsonRecord[] {
    const records: NdjsonRecord[] = []
    for (const line of lines) {
      const isInRow = this.#inRow >= MALFORMED_IN_ROW
      const record = line.kind !== 'line' ? line : isInRow ? parseAfterJunk(line) : parseLine(line)
      if (record === undefined) continue
      if (record.kind === 'malformed' && isInRow) {
        this.#tellTogether(record, records)
        continue
      }
      if (record.kind === 'malformed') this.#inRow += 1
      else this.#endRow(records)
      records.push(record)
    }
    return records
  }

  #tellTogether(record: NdjsonRecord & { kind: 'malformed' }, records: NdjsonRecord[]): void {
    if (this.#together === undefined) this.#together = { ...record, lines: 1 }
    else {
      const { offset, lines } = this.#together
      const bytes = record.offset + record.bytes - offset
      this.#together = { ...this.#together, bytes, lines: lines + 1 }
    }
    if (this.#together.lines < MALFORMED_TOGETHER) return
    records.push(this.#together)
    this.#together = undefined
  }

  #endRow(records: NdjsonRecord[]): void {
    this.#inRow = 0
    if (this.#together !== undefined) records.push(this.#together)
    this.#together = undefined
  }
}

/** This many get records of their own: enough to see what the program prints. */
const MALFORMED_IN_ROW = 20
const MALFORMED_TOGETHER = 10_000

/**
 * An error with its stack costs more than all other work for a short line, so a line that cannot be JSON is not parsed.
 */
function parseAfterJunk(line: LineRecord & { kind: 'line' }): NdjsonRecord | undefined {
  const { text, bytes, offset } = line
  if (JSON_START.test(text) || text.trim() === '') return parseLine(line)
  return {
    kind: 'malformed',
    text: excerpt(text),
    bytes,
    offset,
    error: 'The line does not begin as JSON does.',
  }
}

const JSON_START = /^\s*(?:[{["\-0-9]|true|false|null)/

function parseLine(line: LineRecord & { kind: 'line' }): NdjsonRecord | undefined {
  const { text, bytes, offset } = line
  if (text === '') return undefined
  try {
    return { kind: 'json', value: JSON.parse(text), bytes, offset }
  } catch (error) {
    if (text.trim() === '') return undefined
    const torn = isTorn(text) ? { isTorn: true as const } : {}
    return { kind: 'malformed', text: excerpt(text), bytes, offset, error: reason(error), ...torn }
  }
}

/** Inside a JSON string the quote would be escaped, so each match begins an object. */
const OBJECT_START = '{"'
/** The number of object starts that are tried before the place where the first object breaks off. */
const MAX_STARTS = 64

function isTorn(text: string): boolean {
  if (!text.startsWith(OBJECT_START) || !text.trimEnd().endsWith('}')) return false
  let start = text.indexOf(OBJECT_START, 1)
  for (let tries = 0; start !== -1 && tries < MAX_STARTS; tries += 1) {
    // Two complete values on a line are unusual, but nothing is lost.
    if (isJson(text.slice(start))) return !isJson(text.slice(0, start))
    start = text.indexOf(OBJECT_START, start + 1)
  }
  return false
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A slice of a V8 string keeps the whole string alive, so a 60 MB line would stay in memory for its first 4 KB. */
function excerpt(text: string): string {
  if (text.length <= MALFORMED_TEXT_CHARS) return text
  const encoded = new TextEncoder().encode(text.slice(0, endOfExcerpt(text)))
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(encoded)
}

function endOfExcerpt(text: string): number {
  const last = text.codePointAt(MALFORMED_TEXT_CHARS - 1) ?? 0
  return last > 0xffff ? MALFORMED_TEXT_CHARS - 1 : MALFORMED_TEXT_CHARS
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
