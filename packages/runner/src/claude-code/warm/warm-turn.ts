import type { Guard, HarnessQuery, HarnessTurnOpts, Session, UIEvent } from '@chirality/core'
import { traceProcess } from '../../process/traced-process.ts'
import { versionNotice } from '../../turn/agent-version.ts'
import type { TurnParts, TurnPlan } from '../../turn/connection.ts'
import { cagedStatus, exitListener, restarted } from '../../turn/turn-events.ts'
import { withoutConversation } from '../../turn/turn-query.ts'
import { type ClaudeContext, PLAIN_VARIANT } from '../config.ts'
import { type PromptMessage, promptMessage } from '../launch/prompt.ts'
import { LINGER_MS } from '../rest.ts'
import type { TalkBetweenTurns } from './between-turns.ts'
import { type LiveLease, type LivePool, liveLaunch } from './live-launch.ts'
import { LiveClaudeTurn } from './live-turn.ts'

export interface WarmTurnOptions {
  session: Session
  turnId: string
  query: HarnessQuery
  opts: Pick<HarnessTurnOpts, 'decide' | 'onBetweenTurns'> & { guard?: Guard | undefined }
  context: ClaudeContext
  pool: LivePool
}

/**
 * One turn of a session in its kept process. The process goes on, so `turn:end` is the last event; if the process
 * exited or was killed during the turn, `process:exit` follows.
 */
export function warmPlan(options: WarmTurnOptions): TurnPlan<LiveClaudeTurn> {
  const { session, query, context, pool, opts } = options
  const { agent } = context.variant ?? PLAIN_VARIANT
  let message: Promise<PromptMessage> | undefined
  let lease: LiveLease | undefined
  let listen: ReturnType<TalkBetweenTurns['turnBegins']> | undefined
  const read = () => {
    message ??= promptMessage(query.prompt, agent)
    return message
  }
  const open = async (wanted: HarnessQuery, sent: PromptMessage, parts: TurnParts) => {
    const isFirst = lease === undefined
    const acquired = parts.stop.reason ? null : await acquire(wanted, parts, options)
    if (!acquired) return null
    lease = acquired.lease
    listen = acquired.listen
    const opening = openingOf(lease, options, isFirst).map(event => parts.record.note(event, -1))
    return liveTurn(lease, sent, { ...options, query: wanted, opening, parts })
  }
  return {
    agent,
    config: context.config,
    signal: query.signal,
    resumedId: query.resumeSessionId,
    prompt: async () => {
      const { text: promptText, attachments } = await read()
      return { promptText, attachments }
    },
    open: async parts => open(query, await read(), parts),
    afresh: async parts => {
      await lease?.agent.dismiss()
      pool.told(session.id)
      const wanted = withoutConversation(query)
      return open(wanted, await promptMessage(wanted.prompt, agent), parts)
    },
    over: () => {
      listen?.(opts.onBetweenTurns)
      lease?.afterTurn(exitListener(session.id, agent, opts.onBetweenTurns))
    },
  }
}

/** Null if the turn is stopped meanwhile: a stop does not wait for an agent that starts slowly. */
async function acquire(
  query: HarnessQuery,
  { stop, record, log }: TurnParts,
  { session, turnId, context, pool, opts }: WarmTurnOptions,
): Promise<{ lease: LiveLease; listen: ReturnType<TalkBetweenTurns['turnBegins']> } | null> {
  const sessionId = session.id
  const asks = opts.decide !== undefined
  const launch = liveLaunch(query, { context, asks, guard: opts.guard, sessionId, turnId })
  let lease: LiveLease
  try {
    lease = await pool.acquire({ sessionId, launch, signal: stop.signal })
  } catch (error) {
    if (stop.reason) return null
    throw error
  }
  const { resumeSessionId: claudeSessionId } = query
  if (claudeSessionId && !lease.isKept) log.write('info', 'resume:attempt', { claudeSessionId })
  // First: what is read from here on is the turn's.
  const listen = lease.agent.betweenTurns.turnBegins()
  const { process, readTo } = lease.agent
  record.begin(process.spoolPath)
  if (record.isKept) record.tell(await traceProcess(process, readTo))
  return { lease, listen }
}

function liveTurn(
  lease: LiveLease,
  { content }: PromptMessage,
  {
    session,
    turnId: uuid,
    query,
    context,
    pool,
    opening,
    parts: { record },
  }: WarmTurnOptions & { opening: UIEvent[]; parts: TurnParts },
): LiveClaudeTurn {
  const { config, variant = PLAIN_VARIANT } = context
  const { resumeSessionId, newSessionId, forkSession } = query
  return new LiveClaudeTurn({
    lease,
    content,
    uuid,
    opening,
    record,
    agent: variant.agent,
    sessionId: session.id,
    expectedId: forkSession ? newSessionId : (resumeSessionId ?? newSessionId),
    interruptGraceMs: config.stop?.interruptGraceMs ?? INTERRUPT_GRACE_MS,
    lingerMs: config.lingerMs ?? LINGER_MS,
    backgroundMs: config.backgroundMs ?? BACKGROUND_MS,
    kill: () => pool.kill(session.id),
  })
}

/** Notices about the agent's version, in the first turn of a session, and about the exit of the previous process. */
function openingOf(
  { agent: live, lost }: LiveLease,
  { session, context: { variant = PLAIN_VARIANT } }: WarmTurnOptions,
  isFirst: boolean,
): UIEvent[] {
  const isNews = isFirst && session.claudeSessionId === null
  const notice = isNews ? versionNotice(session.id, variant.version(live.launch.features)) : undefined
  return [
    ...cagedStatus(session.id, live.process.tries),
    ...(notice ? [notice] : []),
    ...(lost ? [restarted(session.id, `${variant.agent.name} ${lost}`)] : []),
  ]
}

const INTERRUPT_GRACE_MS = 5_000
/** Long enough for tests and builds, which are worth waiting for. */
const BACKGROUND_MS = 120_000
