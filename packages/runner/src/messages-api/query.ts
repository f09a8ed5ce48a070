import { randomUUID } from 'node:crypto'
import {
  type ClaudeOutcome,
  createMessagesApiTranslator,
  type HarnessEvent,
  type HarnessQuery,
} from '@chirality/core'
import { queryEnd } from '../turn/query-process.ts'
import { startFailure } from '../turn/start-failure.ts'
import { STALL_MS } from '../turn/turn-events.ts'
import { MESSAGES_API, type MessagesApiContext } from './config.ts'
import { readTranscript } from './conversation/transcript.ts'
import { MESSAGES_API_ID } from './descriptor.ts'
import type { MessagesApiEvent } from './log/native-event.ts'
import { RawLogWriter, TurnTracer } from './log/raw-log.ts'
import { Grants } from './permissions/policy.ts'
import { NativeRun } from './turn/native-run.ts'
import { prepareRun } from './turn/prepare-turn.ts'

/** One turn as raw events. There is no user to ask, so what is not allowed is denied. */
export async function* queryMessagesApi(
  query: HarnessQuery,
  context: MessagesApiContext,
): AsyncGenerator<HarnessEvent<MessagesApiEvent>> {
  if (query.signal.aborted) return
  const run = await start(query, context).catch((error: unknown) => {
    throw startFailure(error, MESSAGES_API)
  })
  if (!run) {
    const error = `${MESSAGES_API.name} has no conversation ${query.resumeSessionId}.`
    yield { type: 'error', error, code: 'session_not_found' }
    return
  }
  const onAbort = () => run.stop()
  query.signal.addEventListener('abort', onAbort, { once: true })
  if (query.signal.aborted) onAbort()
  run.start()
  // Used only for the outcome, so that one place decides what counts as failed.
  const translator = createMessagesApiTranslator({ sessionId: '' })
  try {
    for await (const batch of run.batches()) {
      for (const event of batch) {
        translator.translate(event)
        if (event.subtype === 'init') yield { type: 'session_started', sessionId: event.session_id }
        const isPiece = query.includePartialMessages === false && event.type === 'stream_event'
        if (!isPiece) yield { type: 'message', message: event }
      }
    }
    // An abort by the caller is an end, not a failure.
    if (!query.signal.aborted) yield finished(translator.outcome)
  } finally {
    query.signal.removeEventListener('abort', onAbort)
    await run.close()
  }
}

/** Null when the conversation does not exist. */
async function start(query: HarnessQuery, context: MessagesApiContext): Promise<NativeRun | null> {
  const prepared = await prepareRun(query, context)
  const { cwd, projectRoot = cwd, resumeSessionId, forkAt } = query
  const isLost =
    resumeSessionId !== undefined &&
    (await readTranscript(projectRoot, resumeSessionId, forkAt)) === undefined
  if (isLost) return null
  const ids = { sessionId: resumeSessionId ?? 'query', turnId: randomUUID() }
  const log = await RawLogWriter.open({
    projectRoot,
    harness: MESSAGES_API_ID,
    ...ids,
    rawLogs: context.config.rawLogs,
  })
  try {
    const tracer = new TurnTracer(log)
    const nobody = { grants: new Grants(), canAsk: false }
    const options = { query, prepared, log, tracer, ...nobody, stallMs: STALL_MS }
    return await NativeRun.open(options, context.busyConversations)
  } catch (error) {
    await log.discard()
    throw error
  }
}

function finished(outcome: ClaudeOutcome | null): HarnessEvent<MessagesApiEvent> {
  if (outcome !== null) return queryEnd(outcome)
  return { type: 'error', error: 'The turn ended without a result.', code: 'unknown' }
}
