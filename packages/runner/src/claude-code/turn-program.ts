import { createClaudeTranslator, parseClaudeEvent, type TurnTrace } from '@chirality/core'
import type { ReaderOptions, TurnProgram, TurnReader } from '../turn/turn-program.ts'
import { type ClaudeContext, PLAIN_VARIANT } from './config.ts'
import { CLAUDE_VERSIONS } from './descriptor.ts'
import { usageFailure } from './install/features.ts'
import { prepareClaude } from './launch/invocation.ts'
import { Rest } from './rest.ts'

/** Claude Code as an agent that runs one process for each turn. */
export function claudeProgram(context: ClaudeContext): TurnProgram {
  const { agent } = context.variant ?? PLAIN_VARIANT
  return {
    ...agent,
    config: context.config,
    versions: CLAUDE_VERSIONS,
    explain: stderr => usageFailure(stderr, agent),
    prepare: query => prepareClaude(query, context),
    reader: options => claudeReader({ ...options, harness: agent.harnessId }, context.config.lingerMs),
  }
}

function claudeReader(
  options: ReaderOptions & { harness: string },
  lingerMs: number | undefined,
): TurnReader {
  const { sessionId, harness, onLinger } = options
  const translator = createClaudeTranslator({ sessionId, harness })
  const rest = new Rest({ lingerMs, onLinger })
  return {
    read: record => {
      if (record.kind !== 'json') return translator.translateRecord(record)
      const event = parseClaudeEvent(record.value)
      rest.see(event)
      return translator.translate(event)
    },
    end: () => translator.end(),
    close: () => rest.end(),
    get outcome() {
      return translator.outcome
    },
    get answered() {
      return rest.answered
    },
    get rested() {
      return rest.reached
    },
  }
}

/**
 * The reader of a turn whose process ran turns before it. Its cost is the growth of a running total, and its messages
 * depend on earlier ones, so the spool is read from its beginning, and events are emitted from the turn's beginning on.
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
