import { randomUUID } from 'node:crypto'
import {
  type CodexEvent,
  type CodexOutcome,
  createCodexExecTranslator,
  type HarnessErrorCode,
  type HarnessEvent,
  type HarnessQuery,
  parseCodexEvent,
  type SessionErrorCode,
} from '@chirality/core'
import { spawnJsonl } from '../process/spawn-jsonl.ts'
import { openSpool } from '../process/spool.ts'
import { startFailure } from '../turn/start-failure.ts'
import { describeExit } from '../turn/turn-events.ts'
import { CODEX, type CodexContext, HARNESS_ID } from './config.ts'
import { prepareExec } from './exec-program.ts'
import { checkThread, heldThreadAdvice, isLostThread } from './thread-id.ts'
import { refuseUnsupported } from './unsupported.ts'

/** One turn as native events, through `exec`: each query is a process of its own, and nothing is kept after it. */
export async function* queryCodex(
  query: HarnessQuery,
  context: CodexContext,
): AsyncGenerator<HarnessEvent<CodexEvent>> {
  refuseUnsupported(query)
  checkThread(query)
  if (query.signal.aborted) return
  const startedAt = performance.now()
  const invocation = await prepareExec(query, context)
  let isStarted = false
  try {
    // Read only for its outcome: what counts as failed is decided in one place.
    const translator = createCodexExecTranslator({ sessionId: '', usageBefore: invocation.facts.usageBefore })
    const spool = await openSpool({
      projectRoot: query.cwd,
      harness: HARNESS_ID,
      sessionId: query.resumeSessionId ?? 'query',
      turnId: randomUUID(),
    })
    const events = spawnJsonl<CodexEvent>({
      ...invocation,
      spool,
      signal: query.signal,
      stop: context.config.stop,
      onSpawn: () => {
        isStarted = true
      },
      parseRecord: record => {
        const event = parseCodexEvent(record.kind === 'json' ? record.value : record)
        translator.translate(event)
        return [...started(event), { type: 'message', message: event }]
      },
      onExit: (exit, stderr) => {
        const durationMs = Math.round(performance.now() - startedAt)
        const said = describeExit(CODEX.name, exit, stderr)
        return [finished(translator.outcome, durationMs) ?? withoutResult(said, query)]
      },
    })
    for await (const event of events) {
      // Whoever aborts knows it: an abort is an end, not a failure.
      if (event.type === 'error' && query.signal.aborted) continue
      yield event
    }
  } catch (error) {
    throw isStarted ? error : startFailure(error, CODEX)
  } finally {
    await invocation.cleanup()
  }
}

function started(event: CodexEvent): HarnessEvent<CodexEvent>[] {
  if (event.type !== 'thread.started' || typeof event.thread_id !== 'string') return []
  return [{ type: 'session_started', sessionId: event.thread_id }]
}

function finished(outcome: CodexOutcome | null, durationMs: number): HarnessEvent<CodexEvent> | null {
  if (!outcome) return null
  if (outcome.isError) {
    return { type: 'error', error: outcome.error ?? 'The turn failed.', code: harnessCode(outcome.errorCode) }
  }
  const { usage } = outcome
  return {
    type: 'complete',
    usage: {
      inputTokens: usage.input_tokens,
      outputTokens: usage.output_tokens,
      cacheReadTokens: usage.cache_read_input_tokens,
      cacheWriteTokens: usage.cache_creation_input_tokens,
      durationMs,
    },
  }
}

/** Codex says on stderr alone why it did not even begin. */
function withoutResult(said: string, { resumeSessionId }: HarnessQuery): HarnessEvent<CodexEvent> {
  const advice = heldThreadAdvice(said, resumeSessionId)
  if (advice) return { type: 'error', error: advice, code: 'busy' }
  return { type: 'error', error: said, code: isLostThread(said) ? 'session_not_found' : 'process_crashed' }
}

function harnessCode(code: SessionErrorCode | undefined): HarnessErrorCode {
  switch (code) {
    case 'auth_failed':
    case 'rate_limited':
    case 'context_overflow':
    case 'session_not_found':
      return code
    default:
      return 'unknown'
  }
}
