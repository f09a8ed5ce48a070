import { randomUUID } from 'node:crypto'
import { type ClaudeEvent, HarnessError, type HarnessEvent, type HarnessQuery } from '@chirality/core'
import { promptMessage } from '../claude-code/launch/prompt.ts'
import { type ClaudeQueryContext, queryEvents } from '../claude-code/run/query.ts'
import type { LiveClaude } from '../claude-code/warm/live-claude.ts'
import { liveLaunch } from '../claude-code/warm/live-launch.ts'
import { ControlRequests } from '../claude-code/warm/requests.ts'
import { Questions } from '../turn/questions.ts'
import { describeExit } from '../turn/turn-events.ts'
import { AGENT_SDK } from './config.ts'
import { HARNESS_ID } from './descriptor.ts'

/** One turn as native events, in an agent that ends with it. What it would ask a person is denied, as Claude Code does it. */
export async function* querySdk(
  query: HarnessQuery,
  context: ClaudeQueryContext,
): AsyncGenerator<HarnessEvent<ClaudeEvent>> {
  if (query.signal.aborted) return
  if (context.extraArgs && context.extraArgs.length > 0)
    throw new HarnessError(
      'extraArgs: the Agent SDK writes the command line itself.',
      'unsupported',
      HARNESS_ID,
    )
  const { content } = await promptMessage(query.prompt, AGENT_SDK)
  const sessionId = context.label ?? query.resumeSessionId ?? query.newSessionId ?? 'query'
  const stderr: string[] = []
  const onStderr = (line: string) => void stderr.push(line)
  const names = { sessionId, turnId: randomUUID(), onStderr }
  const launch = liveLaunch(query, { context, asks: false, guard: undefined, ...names })
  let live: LiveClaude
  try {
    live = await launch.start(query.signal)
  } catch (error) {
    if (query.signal.aborted) return
    throw error
  }
  const onAbort = () => void live.stop({ interruptGraceMs: 0 })
  query.signal.addEventListener('abort', onAbort, { once: true })
  try {
    if (query.signal.aborted) onAbort()
    context.onSpool?.(live.process.spoolPath)
    await live.send(content, randomUUID())
    yield* startedFirst(answer(live, stderr, query.signal))
  } finally {
    query.signal.removeEventListener('abort', onAbort)
    await (live.shownRest.reached ? live.dismiss() : live.stop({ interruptGraceMs: 0 }))
  }
}

async function* answer(
  live: LiveClaude,
  stderr: string[],
  signal: AbortSignal,
): AsyncGenerator<HarnessEvent<ClaudeEvent>> {
  // The SDK always has its agent ask; unanswered, it would wait for ever.
  const requests = new ControlRequests(live)
  const questions = new Questions({ requests, decide: undefined, tell: () => {} })
  for await (const item of live.inbox.read()) {
    yield* told(stderr)
    if (item.kind !== 'record' || item.event === null) continue
    live.taken(item)
    const events = live.translator.translate(item.event)
    requests.see(item.event, events)
    for (const event of events) questions.see(event)
    yield* queryEvents(item.event, live.translator.outcome)
    if (live.shownRest.reached) return
  }
  yield* told(stderr)
  // Whoever aborts knows it: an abort is an end, not a failure.
  if (signal.aborted) return
  const { exit, stderr: said } = await live.ended
  yield { type: 'error', error: describeExit(AGENT_SDK.name, exit, said), code: 'process_crashed' }
}

function told(stderr: string[]): HarnessEvent<ClaudeEvent>[] {
  return stderr.splice(0).map(line => ({ type: 'stderr', data: line }))
}

/** The SDK exchanges requests with its agent before there is a conversation; that comes first for whoever listens. */
async function* startedFirst(
  events: AsyncIterable<HarnessEvent<ClaudeEvent>>,
): AsyncGenerator<HarnessEvent<ClaudeEvent>> {
  const held: HarnessEvent<ClaudeEvent>[] = []
  let hasStarted = false
  for await (const event of events) {
    if (!hasStarted && event.type === 'message') held.push(event)
    else {
      hasStarted ||= event.type !== 'stderr'
      yield event
      if (hasStarted) yield* held.splice(0)
    }
  }
  yield* held
}
