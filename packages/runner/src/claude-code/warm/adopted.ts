import type { TurnTrace } from '@chirality/core'
import type { ReaderOptions, TurnProgram, TurnReader } from '../../turn/turn-program.ts'

/**
 * A turn whose process served turns before it. What it cost is the growth of a total, and what it says builds on what was
 * said, so the spool is read from its beginning and told from where the turn began.
 */
export function fromTheBeginning(
  trace: TurnTrace,
  program: TurnProgram,
): { trace: TurnTrace; program: TurnProgram } {
  const begins = trace.processes.map(({ spoolOffset }) => spoolOffset)
  const reader = (options: ReaderOptions) => tellFrom(begins.shift() ?? 0, program.reader(options))
  const processes = trace.processes.map(process => ({ ...process, spoolOffset: 0 }))
  return { trace: { ...trace, processes }, program: { ...program, reader } }
}

function tellFrom(begin: number, reader: TurnReader): TurnReader {
  let isAnswered = false
  return {
    read(record) {
      const events = reader.read(record)
      if (record.offset < begin) return []
      isAnswered = reader.answered
      return events
    },
    end: () => reader.end(),
    close: () => reader.close(),
    get outcome() {
      return isAnswered ? reader.outcome : null
    },
    get answered() {
      return isAnswered
    },
    get rested() {
      return isAnswered && reader.rested
    },
  }
}
