import { crc32 } from 'node:zlib'
import { hasCode } from '@chirality/core'
import type { FileOps } from '@chirality/disk'
import { readFully } from '@chirality/disk'
import type { ByteRange } from './index-block.ts'
import type { IndexFile } from './index-file.ts'
import { LineIndex } from './line-index.ts'

/**
 * The index in the sidecar, as far as it matches the log. Damage inside a log does not move the lines behind it, so the
 * last few lines show whether the index belongs to this log; from the first difference on, the log is read again.
 */
export function loadIndex(
  indexFile: IndexFile,
  log: { fd: number; size: number },
  ops: FileOps,
): LoadedIndex {
  try {
    const index = LineIndex.load(indexFile)
    const { count: lastSeq, bytes } = index
    const known = bytes >= log.size ? { lastSeq, maxSeq: lastSeq } : { lastSeq }
    index.cutTo(log.size)
    const ends = index.ranges(Math.max(1, index.count - CHECKED_LINES + 1), index.count)
    const wrong = ends.filter(range => !range.damaged && !matchesFile(range, log.fd, ops))
    const [firstWrong] = wrong
    if (firstWrong === undefined) return { trusted: index, ...known }
    if (wrong.length < ends.length) {
      index.cutTo(firstWrong.start)
      return { trusted: index, ...known }
    }
    // None of the lines match. If at least the size does, the index still knows how many lines there were.
    if (bytes === log.size) return { trusted: LineIndex.empty(indexFile), ...known }
  } catch (error) {
    if (!hasCode(error, 'index-damaged')) throw error
  }
  return { trusted: LineIndex.empty(indexFile), lastSeq: 0 }
}

export interface LoadedIndex {
  trusted: LineIndex
  /** The number of lines when the index was written. */
  lastSeq: number
  /** The highest number in the log; set if nothing was written after the index. */
  maxSeq?: number
}

/** Whether the line on the disk is the one that was written. */
export function matchesFile({ start, length, crc }: ByteRange, fd: number, ops: FileOps): boolean {
  const buffer = Buffer.allocUnsafe(Math.min(length, CHUNK_BYTES))
  let found = 0
  for (let done = 0; done < length; ) {
    const want = buffer.subarray(0, Math.min(buffer.length, length - done))
    const chunk = readFully(ops, fd, { buffer: want, position: start + done })
    if (chunk.length === 0) return false
    found = crc32(chunk, found)
    done += chunk.length
  }
  return found === crc
}

const CHECKED_LINES = 8
const CHUNK_BYTES = 1024 * 1024
