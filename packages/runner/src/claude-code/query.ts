import { randomUUID } from 'node:crypto'
import type {
  ClaudeEvent,
  ClaudeOutcome,
  HarnessErrorCode,
  HarnessEvent,
  HarnessQuery,
  HarnessUsage,
  SessionErrorCode,
} from '@chirality/core'
import { createClaudeTranslator, parseClaudeEvent } from '@chirality/core'
import { spawnJsonl } from '../process/spawn-jsonl.ts'
import { openSpool } from '../process/spool.ts'
import { HARNESS_ID } from './config.ts'
import { type InvocationContext, prepareClaude } from './invocation.ts'
import { startFailure } from './start-failure.ts'

export interface ClaudeQueryContext extends InvocationContext {
  /** Told where the raw output goes, once that is known. */
  onSpool?: (path: string) => void
}

/** One turn as native events: what `Harness.query` yields. */
export async function* queryClaude(
  query: HarnessQuery,
  context: ClaudeQueryContext,
): AsyncGenerator<HarnessEvent<ClaudeEvent>> {
  if (query.signal.aborted) return
  const invocation = await prepareClaude(query, context)
  // Read only for its outcome: what counts as failed is decided in one place.
  const translator = createClaudeTranslator({ sessionId: '' })
  try {
    const spool = await openSpool({
      projectRoot: query.cwd,
      harness: HARNESS_ID,
      sessionId: query.resumeSessionId ?? query.newSessionId ?? 'query',
      turnId: randomUUID(),
    })
    context.onSpool?.(spool.path)
    const { command, args, env, cwd, stdin } = invocation
    yield* spawnJsonl<ClaudeEvent>({
      command,
      args,
      env,
      cwd,
      stdin,
      spool,
      signal: query.signal,
      parseRecord: record => {
        const event = parseClaudeEvent(record.kind === 'json' ? record.value : record)
        translator.translate(event)
        return [
          ...started(event),
          { type: 'message', message: event },
          ...finished(event, translator.outcome),
        ]
      },
      onExit: (exit, stderr) => {
        if (translator.outcome) return []
        const how = exit.signal ? `was ended by ${exit.signal}` : `exited with code ${exit.code}`
        const error = `Claude Code ${how} without a result. ${stderr.trim()}`.trim()
        return [{ type: 'error', error, code: 'process_crashed' }]
      },
    })
  } catch (error) {
    throw startFailure(error)
  } finally {
    await invocation.cleanup()
  }
}

function started(event: ClaudeEvent): HarnessEvent<ClaudeEvent>[] {
  if (event.type !== 'system' || event.subtype !== 'init') return []
  return [{ type: 'session_started', sessionId: String(event.session_id) }]
}

function finished(event: ClaudeEvent, outcome: ClaudeOutcome | null): HarnessEvent<ClaudeEvent>[] {
  if (event.type !== 'result' || !outcome) return []
  if (!outcome.isError) return [{ type: 'complete', usage: usageOf(outcome) }]
  return [{ type: 'error', error: outcome.error ?? 'The turn failed.', code: harnessCode(outcome.errorCode) }]
}

function usageOf(outcome: ClaudeOutcome): HarnessUsage {
  const { usage } = outcome
  return {
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cacheReadTokens: usage.cache_read_input_tokens,
    cacheWriteTokens: usage.cache_creation_input_tokens,
    costUsd: outcome.costUsd,
    durationMs: outcome.durationMs,
  }
}

function harnessCode(code: SessionErrorCode | undefined): HarnessErrorCode {
  switch (code) {
    case 'auth_failed':
    case 'rate_limited':
    case 'context_overflow':
    case 'session_not_found':
    case 'max_turns':
    case 'budget_exceeded':
      return code
    case 'interrupted':
      return 'aborted'
    default:
      return 'unknown'
  }
}
