import { CodedError, type Envelope, type StatusEvent, type UIEvent } from '@chirality/core'
import type { SessionLogReader } from '../log/read-log.ts'
import { notice } from '../log/turn-events.ts'
import { type ForkHistory, type ForkOrigin, parseFork, type StoredSession } from './stored-session.ts'

/** Whether the conversation continues after this event. Process exits and notices are no part of it. */
export function goesOnAfter(log: SessionLogReader, seq: number): boolean {
  return someAfter(log, seq, ({ event }) => event.type === 'turn:start' || isSaid(event))
}

/** Whether the agent printed or did anything after this event, which shows that it received the message. */
export function isAnsweredAfter(log: SessionLogReader, seq: number): boolean {
  return someAfter(log, seq, ({ event }) => isSaid(event))
}

/**
 * What the agent of a fork at this event would get: decided here for the fork itself, and for a preview. Agents find their
 * conversation only from the folder that it was in, so a fork with another worktree gets a transcript.
 */
export function historyOfFork(
  log: SessionLogReader | undefined,
  seq: number,
  source: Pick<StoredSession, 'claudeSessionId' | 'worktree'>,
  worktree: string | null,
): ReturnType<typeof historyAt> {
  if (source.worktree === worktree) return historyAt(log, seq, source)
  return { claudeSessionId: source.claudeSessionId, history: 'account' }
}

function historyAt(
  log: SessionLogReader | undefined,
  seq: number,
  { claudeSessionId }: Pick<ForkOrigin, 'claudeSessionId'>,
): Pick<ForkOrigin, 'claudeSessionId' | 'point'> & { history: ForkHistory } {
  if (log === undefined) return { claudeSessionId, history: 'whole' }
  if (claudeSessionId === null || isOpenAt(log, seq)) return { claudeSessionId, history: 'account' }
  const cut = cutAt(log, seq)
  if (!goesOnAfter(log, seq)) return { claudeSessionId, ...cut, history: 'whole' }
  return cut === undefined ? { claudeSessionId, history: 'account' } : { ...cut, history: 'cut' }
}

/**
 * The point at which the agent can cut its conversation so that it knows everything up to this event: undefined in the
 * middle of a turn, after a turn without an answer, and if a summary has since replaced the messages.
 */
function cutAt(log: SessionLogReader, seq: number): { claudeSessionId: string; point: string } | undefined {
  if (someAfter(log, seq, ({ event }) => event.type === 'status' && event.status === 'compacted'))
    return undefined
  let point: string | undefined
  for (const event of backwards(log, seq)) {
    if (point !== undefined) {
      // The conversation that contains the answer. Before a fork it was another one.
      if (originIn(event) !== null) return undefined
      if (event.type === 'session:init' && event.claudeSessionId !== null)
        return { claudeSessionId: event.claudeSessionId, point }
    } else if (event.type === 'session:complete' && event.forkPoint !== undefined) {
      point = event.forkPoint
    } else if (CLOSING.has(event.type) || isSaid(event)) {
      return undefined
    }
  }
  return undefined
}

/** Whether the event is in a turn that ends later, or never. */
function isOpenAt(log: SessionLogReader, seq: number): boolean {
  for (const { type } of backwards(log, seq)) {
    if (type === 'turn:end') return false
    if (type === 'turn:start') return true
  }
  return false
}

const CLOSING: ReadonlySet<UIEvent['type']> = new Set(['turn:start', 'session:complete', 'session:error'])

function* backwards(log: SessionLogReader, seq: number): Generator<UIEvent> {
  for (let before = seq + 1; before > 1; ) {
    const batch = log.readBefore(before, BATCH_EVENTS)
    for (const { event } of batch.toReversed()) yield event
    before = batch[0]?.seq ?? 0
  }
}

/** Notes in the log of a fork that everything above belongs to another session, cost included. */
function wholeNotice(sessionId: string, forkedFrom: ForkOrigin): StatusEvent {
  const message =
    'This is a fork: the agent goes on from its own conversation, with all that it said and did above. What that cost is counted in the session that it was forked from.'
  return { ...notice(sessionId, message, { forkedFrom: { ...forkedFrom, history: 'whole' } }), level: 'info' }
}

/** Notes in the log of a fork what its agent resumes, so that a session that is rebuilt from its log knows it too. */
function cutNotice(sessionId: string, forkedFrom: ForkOrigin): StatusEvent {
  const message =
    'The agent of this fork goes on from its own conversation as it was here, with all that it said and did. Nothing that came later is in it.'
  return { ...notice(sessionId, message, { forkedFrom: { ...forkedFrom, history: 'cut' } }), level: 'info' }
}

/**
 * Notes in the log of a fork that its agent gets a transcript, so that a session that is rebuilt from its log knows it
 * too.
 */
export function accountNotice(sessionId: string, forkedFrom: ForkOrigin): StatusEvent {
  const message =
    'The agent’s own conversation cannot be cut here, so this fork begins a new one. Its first message carries a written account of what is shown above, long texts and results cut; nothing that came later.'
  return notice(sessionId, message, { forkedFrom: { ...forkedFrom, history: 'account' } })
}

export const FORK_NOTICES: Readonly<
  Record<ForkHistory, (sessionId: string, forkedFrom: ForkOrigin) => StatusEvent>
> = { whole: wholeNotice, cut: cutNotice, account: accountNotice }

/** The text of such a notice. */
export function originIn(event: UIEvent): ForkOrigin | null {
  const isOurs = event.type === 'status' && event.data?.kind === 'chirality'
  return isOurs ? parseFork(event.data?.forkedFrom) : null
}

function someAfter(log: SessionLogReader, seq: number, fits: (envelope: Envelope) => boolean): boolean {
  for (let last = seq; last < log.lastSeq; ) {
    const batch = log.readAfter(last, BATCH_EVENTS)
    if (batch.some(fits)) return true
    last = batch.at(-1)?.seq ?? log.lastSeq
  }
  return false
}

const BATCH_EVENTS = 200

function isSaid({ type }: UIEvent): boolean {
  return type.startsWith('chat:') || type.startsWith('tool:')
}

/** The worktree that a fork needs is made by the server, which has the files of that time. */
export function requireForkable({ worktree }: Pick<StoredSession, 'worktree'>): void {
  if (worktree === null) return
  throw new CodedError(
    'unsupported',
    'A session in a worktree is forked into a worktree of its own, by the server that has its project.',
  )
}
