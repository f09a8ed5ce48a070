import {
  type ClaudeEvent,
  type ClaudeOutcome,
  createClaudeTranslator,
  type HarnessEvent,
  type HarnessQuery,
  parseClaudeEvent,
} from '@chirality/core'
import { queryEnd, queryProcess } from '../../turn/query-process.ts'
import { PLAIN_VARIANT } from '../config.ts'
import { usageFailure } from '../install/features.ts'
import { type InvocationContext, prepareClaude } from '../launch/invocation.ts'
import { Rest } from '../rest.ts'

export interface ClaudeQueryContext extends InvocationContext {
  /** Called with the path of the raw log, once it is known. */
  onSpool?: (path: string) => void
  /** Names the raw log. */
  label?: string | undefined
}

/** One turn as native events, as `Harness.query` yields them. */
export async function* queryClaude(
  query: HarnessQuery,
  context: ClaudeQueryContext,
): AsyncGenerator<HarnessEvent<ClaudeEvent>> {
  if (query.signal.aborted) return
  const { config, onSpool, variant = PLAIN_VARIANT } = context
  const { agent } = variant
  const invocation = await prepareClaude(query, context)
  // Used only for its outcome, so that one module decides which results are failures.
  const translator = createClaudeTranslator({ sessionId: '' })
  let stopAgent = () => {}
  const rest = new Rest({ lingerMs: config.lingerMs, onLinger: () => stopAgent() })
  try {
    yield* queryProcess<ClaudeEvent>({
      agent,
      config,
      query,
      invocation,
      label: context.label,
      onSpawn: process => {
        stopAgent = () => void process.stop(config.stop)
        onSpool?.(process.spoolPath)
      },
      read: record => {
        const event = parseClaudeEvent(record.kind === 'json' ? record.value : record)
        rest.see(event)
        translator.translate(event)
        return queryEvents(event, translator.outcome)
      },
      end: said => {
        if (rest.answered) return []
        const crash = { error: said, code: 'process_crashed' } as const
        return [{ type: 'error', ...(usageFailure(said, agent) ?? crash) }]
      },
    })
  } finally {
    rest.end()
  }
}

/** A native event as a query yields it, with its meaning. `outcome` is the translator's, after the event. */
export function queryEvents(event: ClaudeEvent, outcome: ClaudeOutcome | null): HarnessEvent<ClaudeEvent>[] {
  return [...started(event), { type: 'message', message: event }, ...finished(event, outcome)]
}

function started(event: ClaudeEvent): HarnessEvent<ClaudeEvent>[] {
  if (event.type !== 'system' || event.subtype !== 'init' || typeof event.session_id !== 'string') return []
  return [{ type: 'session_started', sessionId: event.session_id }]
}

function finished(event: ClaudeEvent, outcome: ClaudeOutcome | null): HarnessEvent<ClaudeEvent>[] {
  return event.type === 'result' && outcome ? [queryEnd(outcome)] : []
}
