import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { NdjsonFramer } from '@chirality/core'
import { asObject, type JsonObject } from '../common/json.ts'

/** A larger file is read from the end, where the conversation continues. */
export const MAX_FILE_BYTES = 256 * 1024 * 1024

export interface ReadLines {
  lines: JsonObject[]
  /** The number of lines that are too long or not JSON. */
  unreadable: number
  /** The file exceeds the limit and was read partly. */
  isCut: boolean
}

export interface ReadLinesOptions {
  /** Selects the lines to keep: most lines of a file do not belong to the conversation. */
  isWanted: (line: JsonObject) => boolean
  maxBytes?: number
}

/** The selected lines of an agent's file, in order. An invalid line is skipped and affects no other. */
export async function readLines(file: string, options: ReadLinesOptions): Promise<ReadLines> {
  const { isWanted, maxBytes = MAX_FILE_BYTES } = options
  const { size } = await stat(file)
  const start = Math.max(0, size - maxBytes)
  const framer = new NdjsonFramer()
  const read: ReadLines = { lines: [], unreadable: 0, isCut: start > 0 }
  let isFirst = true
  const take = (records: ReturnType<NdjsonFramer['push']>) => {
    for (const record of records) {
      const isHalf = isFirst && start > 0
      isFirst = false
      if (record.kind === 'json') {
        const line = asObject(record.value)
        if (!isHalf && isWanted(line)) read.lines.push(line)
      } else if (!isHalf) read.unreadable += 1
    }
  }
  // Reads up to the current size, because an agent may be appending to the file.
  if (size > 0) {
    for await (const chunk of createReadStream(file, { start, end: size - 1 })) take(framer.push(chunk))
  }
  take(framer.end())
  return read
}

/** The first and the last lines of a file, for listing many files. */
export async function readEnds(
  file: string,
  bytes: number,
): Promise<{ head: JsonObject[]; tail: JsonObject[] }> {
  const handle = await open(file, 'r')
  try {
    const { size } = await handle.stat()
    const at = async (position: number, length: number) => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position)
      return linesOf(buffer.subarray(0, bytesRead))
    }
    const head = await at(0, Math.min(bytes, size))
    return { head, tail: size > bytes ? await at(size - bytes, bytes) : head }
  } finally {
    await handle.close()
  }
}

/** A line that the window cuts is not valid JSON, so it is skipped. */
function linesOf(bytes: Uint8Array): JsonObject[] {
  const framer = new NdjsonFramer()
  const records = [...framer.push(bytes), ...framer.end()]
  return records.flatMap(record => (record.kind === 'json' ? [asObject(record.value)] : []))
}
