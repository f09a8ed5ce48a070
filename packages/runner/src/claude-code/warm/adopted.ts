import type { TurnTrace, UIEvent } from '@chirality/core'
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

/** Nobody can answer what the agent asked: its stdin went with the Chirality that held it. */
export async function* closeRequests(events: AsyncIterable<UIEvent>): AsyncGenerator<UIEvent> {
  const open = new Map<string, string | undefined>()
  for await (const event of events) {
    if (event.type === 'permission:request') open.set(event.requestId, event.toolUseId)
    // An answer may cross a withdrawal; the first of them counts.
    if (event.type === 'permission:resolved' && !open.delete(event.requestId)) continue
    if (event.type === 'turn:end') yield* cancelled(event.sessionId, [...open.keys()], 'turn-end')
    if (event.type === 'tool:result') {
      // The call is over, so nothing waits for the answer any more, though the turn may go on for hours.
      const over = [...open].flatMap(([id, toolUseId]) => (toolUseId === event.toolUseId ? [id] : []))
      for (const requestId of over) open.delete(requestId)
      yield* cancelled(event.sessionId, over, 'failure')
    }
    yield event
  }
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

function* cancelled(
  sessionId: string,
  open: readonly string[],
  by: 'turn-end' | 'failure',
): Generator<UIEvent> {
  for (const requestId of open)
    yield { type: 'permission:resolved', sessionId, requestId, outcome: 'cancelled', by }
}
