import {
  type CodexEvent,
  createCodexExecTranslator,
  HarnessError,
  type HarnessEvent,
  type HarnessQuery,
  parseCodexEvent,
} from '@chirality/core'
import { queryEnd, queryProcess } from '../turn/query-process.ts'
import { CODEX, type CodexContext } from './config.ts'
import { HARNESS_ID } from './descriptor.ts'
import { prepareExec } from './exec/exec-program.ts'
import { checkThread, heldThreadAdvice, isLostThread, refuseUnsupported } from './options/check-query.ts'

/** One turn as native events, through `exec`: each query is a process of its own, and no process is kept after it. */
export async function* queryCodex(
  query: HarnessQuery,
  context: CodexContext,
): AsyncGenerator<HarnessEvent<CodexEvent>> {
  refuseUnsupported(query)
  checkThread(query)
  if (query.forkAt !== undefined)
    throw new HarnessError(
      'forkAt: a query runs `codex exec`, which forks a whole thread.',
      'unsupported',
      HARNESS_ID,
    )
  if (query.signal.aborted) return
  const startedAt = performance.now()
  const invocation = await prepareExec(query, context)
  const { usageBefore } = invocation.facts
  // Used only for its outcome, so that one module decides which results are failures.
  const translator = createCodexExecTranslator({ sessionId: '', usageBefore })
  yield* queryProcess<CodexEvent>({
    agent: CODEX,
    config: context.config,
    query,
    invocation,
    read: record => {
      const event = parseCodexEvent(record.kind === 'json' ? record.value : record)
      translator.translate(event)
      return [...started(event), { type: 'message', message: event }]
    },
    end: said => {
      const { outcome } = translator
      const durationMs = Math.round(performance.now() - startedAt)
      return [outcome ? queryEnd({ ...outcome, durationMs }) : withoutResult(said, query)]
    },
  })
}

function started(event: CodexEvent): HarnessEvent<CodexEvent>[] {
  if (event.type !== 'thread.started' || typeof event.thread_id !== 'string') return []
  return [{ type: 'session_started', sessionId: event.thread_id }]
}

/** Codex reports only on stderr why a turn did not begin. */
function withoutResult(said: string, { resumeSessionId }: HarnessQuery): HarnessEvent<CodexEvent> {
  const advice = heldThreadAdvice(said, resumeSessionId)
  if (advice) return { type: 'error', error: advice, code: 'busy' }
  return { type: 'error', error: said, code: isLostThread(said) ? 'session_not_found' : 'process_crashed' }
}
