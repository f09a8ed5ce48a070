import type { FileOps } from '../files/file-ops.ts'
import type { LineIndex } from './line-index.ts'
import { numberLines } from './number-lines.ts'
import { type ScannedLine, scanLines } from './scan-lines.ts'

export interface IndexLinesOptions {
  ops: FileOps
  fd: number
  /** Where the log ends. */
  size: number
  /** Lines that claim a higher number are not ours. */
  maxSeq?: number
  /** The checksum that the line of a number had when it was written, where that is known. */
  knownCrc?: (seq: number) => number | undefined
}

/**
 * Reads the log from where the index ends, and adds the lines it finds. A generator, so that the caller decides whether
 * others get a turn between chunks. Returns where an unfinished last line starts; `size` when there is none.
 */
export function* indexLines(index: LineIndex, options: IndexLinesOptions): Generator<void, number> {
  const { ops, fd, size, maxSeq = Number.MAX_SAFE_INTEGER, knownCrc } = options
  const scan = scanLines({ ops, fd, from: index.bytes, to: size })
  const odd: ScannedLine[] = []
  let step = scan.next()
  for (; !step.done; step = scan.next()) {
    for (const line of step.value) {
      if (knownCrc !== undefined && (line.seq > maxSeq || (knownCrc(line.seq) ?? line.crc) !== line.crc))
        line.seq = 0
      // As long as every line is the one after the last there is nothing to decide and nothing to keep.
      if (odd.length === 0 && line.seq === index.count + 1 && line.seq <= maxSeq)
        index.add(line.length, line.crc)
      else odd.push(line)
    }
    yield
  }
  addNumbered(index, odd, { maxSeq, countUnreadable: knownCrc === undefined })
  return step.value
}

function addNumbered(
  index: LineIndex,
  lines: ScannedLine[],
  options: { maxSeq: number; countUnreadable: boolean },
): void {
  const stated = lines.map(({ seq }) => seq)
  const numbers = numberLines(stated, { lastSeq: index.count, ...options })
  let junk = 0
  for (const [i, { length, crc, seq }] of lines.entries()) {
    const number = numbers[i] ?? 0
    if (number === 0) {
      junk += length
      continue
    }
    index.addMissing(number - index.count - 1)
    index.add(junk + length, crc, junk > 0 || number !== seq)
    junk = 0
  }
}
