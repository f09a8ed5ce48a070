import { randomUUID } from 'node:crypto'
import type { ClaudeEvent, HarnessEvent, HarnessQuery } from '@chirality/core'
import type { ClaudeContext } from '../claude-code/config.ts'
import { promptMessage } from '../claude-code/prompt.ts'
import { queryEvents } from '../claude-code/query.ts'
import type { LiveClaude } from '../claude-code/warm/live-claude.ts'
import { liveLaunch } from '../claude-code/warm/live-launch.ts'
import { describeExit } from '../turn/turn-events.ts'
import { AGENT_SDK } from './config.ts'

/** One turn as native events, in an agent that ends with it. */
export async function* querySdk(
  query: HarnessQuery,
  context: ClaudeContext,
): AsyncGenerator<HarnessEvent<ClaudeEvent>> {
  if (query.signal.aborted) return
  const { content } = await promptMessage(query.prompt, AGENT_SDK)
  const sessionId = query.resumeSessionId ?? query.newSessionId ?? 'query'
  const launch = liveLaunch(query, { context, asks: false })
  let live: LiveClaude
  try {
    live = await launch.start({ sessionId, turnId: randomUUID() }, query.signal)
  } catch (error) {
    if (query.signal.aborted) return
    throw error
  }
  const onAbort = () => void live.stop({ interruptGraceMs: 0 })
  query.signal.addEventListener('abort', onAbort, { once: true })
  try {
    if (query.signal.aborted) onAbort()
    await live.send(content, randomUUID())
    yield* answer(live, query.signal)
  } finally {
    query.signal.removeEventListener('abort', onAbort)
    await (live.shownRest.reached ? live.dismiss() : live.stop({ interruptGraceMs: 0 }))
  }
}

async function* answer(live: LiveClaude, signal: AbortSignal): AsyncGenerator<HarnessEvent<ClaudeEvent>> {
  for await (const item of live.inbox.read()) {
    if (item.kind !== 'record' || item.event === null) continue
    live.taken(item)
    live.translator.translate(item.event)
    yield* queryEvents(item.event, live.translator.outcome)
    if (live.shownRest.reached) return
  }
  // Whoever aborts knows it: an abort is an end, not a failure.
  if (signal.aborted) return
  const { exit, stderr } = await live.ended
  yield { type: 'error', error: describeExit(AGENT_SDK.name, exit, stderr), code: 'process_crashed' }
}
