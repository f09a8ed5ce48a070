import { createClaudeTranslator, parseClaudeEvent } from '@chirality/core'
import type { ReaderOptions, TurnProgram, TurnReader } from '../turn/turn-program.ts'
import { type ClaudeContext, PLAIN_VARIANT } from './config.ts'
import { CLAUDE_VERSIONS, usageFailure } from './features.ts'
import { prepareClaude } from './invocation.ts'
import { Rest } from './rest.ts'

/** Claude Code as an agent that runs one process a turn. */
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
