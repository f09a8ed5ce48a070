import type { FileHandle } from 'node:fs/promises'
import path from 'node:path'
import { type BuiltInTool, numberOf, objectSchema, ToolError, textOf } from '../built-in-tool.ts'
import type { Workspace } from './workspace.ts'

export function readTool(workspace: Workspace): BuiltInTool {
  return {
    name: 'read',
    effect: 'read',
    description: `Reads a text file with line numbers. Gives at most ${DEFAULT_LINES} lines; use offset and limit for others.`,
    inputSchema: objectSchema(
      {
        file_path: { type: 'string', description: 'Absolute, or relative to the project folder' },
        offset: { type: 'integer', minimum: 1, description: 'The first line to read, from 1' },
        limit: { type: 'integer', minimum: 1, maximum: MAX_LINES, description: 'How many lines to read' },
      },
      ['file_path'],
    ),
    subject: input => textOf(input.file_path),
    async execute(input, { signal }) {
      const place = await workspace.locate(input.file_path)
      if (!place.exists) throw new ToolError(`${place.shown} does not exist.`)
      const offset = numberOf(input.offset) ?? 1
      const limit = numberOf(input.limit) ?? DEFAULT_LINES
      const directory = await workspace.openParent(place)
      try {
        const file = await directory.openFile(path.basename(place.real))
        try {
          return await readLines(file, { shown: place.shown, offset, limit, signal })
        } finally {
          await file.close()
        }
      } finally {
        await directory.close()
      }
    },
  }
}

const DEFAULT_LINES = 2000
const MAX_LINES = 20_000
const MAX_LINE_CHARS = 2000
const MAX_RESULT_CHARS = 256 * 1024
const CHUNK_BYTES = 64 * 1024
/** All lines before the requested one have to be read. */
const MAX_SCANNED_BYTES = 512 * 1024 * 1024

interface ReadOptions {
  shown: string
  offset: number
  limit: number
  signal: AbortSignal
}

async function readLines(file: FileHandle, options: ReadOptions): Promise<string> {
  const { shown, offset, limit, signal } = options
  const lines = new LineWindow(offset, limit)
  const decoder = new TextDecoder()
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  let position = 0
  while (!lines.isFull) {
    signal.throwIfAborted()
    const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, position)
    const chunk = buffer.subarray(0, bytesRead)
    if (chunk.includes(0))
      throw new ToolError(`${shown} is a binary file of ${(await file.stat()).size} bytes.`)
    if (bytesRead === 0) {
      lines.end(decoder.decode())
      break
    }
    lines.push(decoder.decode(chunk, { stream: true }))
    position += bytesRead
    if (position > MAX_SCANNED_BYTES) throw new ToolError(`${shown} is too long to read that far.`)
  }
  return lines.text(shown)
}

/** Keeps some lines of a text that arrives in pieces, and drops the rest. */
class LineWindow {
  isFull = false
  readonly #offset: number
  readonly #limit: number
  readonly #kept: string[] = []
  #chars = 0
  #number = 0
  #line = ''
  #lineChars = 0
  #isOpen = false

  constructor(offset: number, limit: number) {
    this.#offset = offset
    this.#limit = limit
  }

  push(text: string): void {
    let start = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.#grow(text, start, end)
      this.#finishLine()
      start = end + 1
      if (this.isFull) return
    }
    if (start < text.length) this.#grow(text, start, text.length)
  }

  end(rest: string): void {
    this.push(rest)
    if (this.#isOpen && !this.isFull) this.#finishLine()
  }

  text(shown: string): string {
    if (this.#kept.length > 0) {
      const next = this.#offset + this.#kept.length
      const more = this.isFull ? `\n[More may follow. Go on with offset ${next}.]` : ''
      return this.#kept.join('\n') + more
    }
    return this.#number === 0 ? `${shown} is empty.` : `${shown} has only ${this.#number} lines.`
  }

  #grow(text: string, start: number, end: number): void {
    this.#isOpen = true
    this.#lineChars += end - start
    const room = MAX_LINE_CHARS - this.#line.length
    if (room > 0 && this.#number + 1 >= this.#offset)
      this.#line += text.slice(start, Math.min(end, start + room))
  }

  #finishLine(): void {
    this.#number += 1
    if (this.#number >= this.#offset) {
      const isCut = this.#lineChars > MAX_LINE_CHARS
      const cut = isCut ? ` [line of ${this.#lineChars} characters, cut]` : ''
      const line = `${String(this.#number).padStart(6)}\t${this.#line.replace(/\r$/, '')}${cut}`
      this.#kept.push(line)
      this.#chars += line.length
      this.isFull = this.#kept.length >= this.#limit || this.#chars >= MAX_RESULT_CHARS
    }
    this.#line = ''
    this.#lineChars = 0
    this.#isOpen = false
  }
}
