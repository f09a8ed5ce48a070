import type { FileOps } from '../files/file-ops.ts'
import { chooseLines } from './choose-lines.ts'
import type { LineIndex } from './line-index.ts'
import { type ScannedLine, scanLines } from './scan-lines.ts'

export interface IndexLinesOptions {
  ops: FileOps
  fd: number
  /** Where the log ends. */
  size: number
  /** Lines that claim a higher number are not ours. */
  maxSeq?: number
}

/**
 * Reads the log from where the index ends, and adds the lines it finds. A generator, so that the caller decides whether
 * others get a turn between chunks. Returns where an unfinished last line starts; `size` when there is none.
 */
export function* indexLines(index: LineIndex, options: IndexLinesOptions): Generator<void, number> {
  const { ops, fd, size, maxSeq = Number.MAX_SAFE_INTEGER } = options
  const scan = scanLines({ ops, fd, from: index.bytes, to: size })
  const odd: ScannedLine[] = []
  let step = scan.next()
  for (; !step.done; step = scan.next()) {
    for (const line of step.value) {
      // As long as every line is the one after the last there is nothing to decide and nothing to keep.
      if (odd.length === 0 && line.seq === index.count + 1 && line.seq <= maxSeq)
        index.add(line.length, line.crc)
      else odd.push(line)
    }
    yield
  }
  addChosen(index, odd, maxSeq)
  return step.value
}

function addChosen(index: LineIndex, lines: ScannedLine[], maxSeq: number): void {
  const lastSeq = index.count
  const keep = chooseLines(
    lines.map(({ seq }, i) => (seq > lastSeq && seq <= Math.min(maxSeq, lastSeq + i + MAX_JUMP) ? seq : 0)),
  )
  const lastKept = keep.lastIndexOf(1)
  let junk = 0
  for (const [i, line] of lines.entries()) {
    if (keep[i] === 1) {
      index.addMissing(line.seq - index.count - 1)
      index.add(junk + line.length, line.crc, junk > 0)
      junk = 0
    } else if (i > lastKept && index.count < maxSeq) {
      // Each bad line at the end once had a number; using it again would hide the next event from a reader that saw it.
      index.add(junk + line.length, line.crc, true)
      junk = 0
    } else {
      junk += line.length
    }
  }
}

/** A larger step between two lines is a broken number, not a gap. */
export const MAX_JUMP = 1_000_000
