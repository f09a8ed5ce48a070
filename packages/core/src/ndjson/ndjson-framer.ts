import { LineFramer, type LineFramerOptions, type LineRecord } from './line-framer.ts'

/** How much of a malformed line its record shows; the spool has the rest at `offset`. */
export const MALFORMED_TEXT_CHARS = 4096

/** `offset` is the byte offset of the line in the stream, `bytes` its length without the newline. */
export type NdjsonRecord =
  | { kind: 'json'; value: unknown; bytes: number; offset: number }
  | { kind: 'malformed'; text: string; bytes: number; offset: number; error: string }
  | { kind: 'oversize'; bytes: number; offset: number }

export type NdjsonFramerOptions = LineFramerOptions

/**
 * Bytes to JSON values, one per line. No input makes it throw: what is not JSON becomes a `malformed` record, a line
 * over the cap an `oversize` record, and reading goes on. Blank lines are skipped.
 */
export class NdjsonFramer {
  readonly #lines: LineFramer

  constructor(options: NdjsonFramerOptions = {}) {
    this.#lines = new LineFramer(options)
  }

  push(chunk: Uint8Array): NdjsonRecord[] {
    return parseLines(this.#lines.push(chunk))
  }

  /** The last line, if the stream stopped without a newline. */
  end(): NdjsonRecord[] {
    return parseLines(this.#lines.end())
  }
}

function parseLines(lines: LineRecord[]): NdjsonRecord[] {
  const records: NdjsonRecord[] = []
  for (const line of lines) {
    const record = line.kind === 'line' ? parseLine(line) : line
    if (record !== undefined) records.push(record)
  }
  return records
}

function parseLine(line: LineRecord & { kind: 'line' }): NdjsonRecord | undefined {
  const { text, bytes, offset } = line
  if (text === '') return undefined
  try {
    return { kind: 'json', value: JSON.parse(text), bytes, offset }
  } catch (error) {
    if (text.trim() === '') return undefined
    return { kind: 'malformed', text: excerpt(text), bytes, offset, error: reason(error) }
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
