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
import { HarnessLog } from '../turn/harness-log.ts'
import { startFailure } from '../turn/start-failure.ts'
import { describeExit } from '../turn/turn-events.ts'
import { CLAUDE_CODE, HARNESS_ID } from './config.ts'
import { type InvocationContext, prepareClaude } from './invocation.ts'
import { Rest } from './rest.ts'

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
  const { config, onSpool } = context
  const invocation = await prepareClaude(query, context)
  const log = new HarnessLog(config)
  // Read only for its outcome: what counts as failed is decided in one place.
  const translator = createClaudeTranslator({ sessionId: '' })
  let stopAgent = () => {}
  const rest = new Rest({ lingerMs: config.lingerMs, onLinger: () => stopAgent() })
  let isStarted = false
  try {
    const spool = await openSpool({
      projectRoot: query.cwd,
      harness: HARNESS_ID,
      sessionId: query.resumeSessionId ?? query.newSessionId ?? 'query',
      turnId: randomUUID(),
    })
    const { command, args, env, cwd, stdin } = invocation
    const events = spawnJsonl<ClaudeEvent>({
      command,
      args,
      env,
      cwd,
      stdin,
      spool,
      signal: query.signal,
      stop: config.stop,
      onSpawn: process => {
        isStarted = true
        stopAgent = () => void process.stop(config.stop)
        onSpool?.(process.spoolPath)
        log.spawned(invocation, process)
      },
      parseRecord: record => {
        log.record(record)
        const event = parseClaudeEvent(record.kind === 'json' ? record.value : record)
        rest.see(event)
        translator.translate(event)
        return queryEvents(event, translator.outcome)
      },
      onExit: (exit, stderr) => {
        log.exited(exit)
        const error = describeExit(CLAUDE_CODE.name, exit, stderr)
        return rest.answered ? [] : [{ type: 'error', error, code: 'process_crashed' }]
      },
    })
    for await (const event of events) {
      if (event.type === 'stderr') log.stderr(event.data)
      // Whoever aborts knows it: an abort is an end, not a failure.
      if (event.type === 'error' && query.signal.aborted) continue
      yield event
    }
  } catch (error) {
    throw isStarted ? error : startFailure(error, CLAUDE_CODE)
  } finally {
    rest.end()
    await invocation.cleanup()
  }
}

/** A native event as a query yields it, with what it means. `outcome` is the translator's, after the event. */
export function queryEvents(event: ClaudeEvent, outcome: ClaudeOutcome | null): HarnessEvent<ClaudeEvent>[] {
  return [...started(event), { type: 'message', message: event }, ...finished(event, outcome)]
}

function started(event: ClaudeEvent): HarnessEvent<ClaudeEvent>[] {
  if (event.type !== 'system' || event.subtype !== 'init' || typeof event.session_id !== 'string') return []
  return [{ type: 'session_started', sessionId: event.session_id }]
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
