import {
  HOST_NOTICE,
  lineOf,
  type PermissionRequestEvent,
  type PermissionResolvedEvent,
  type SessionErrorEvent,
  type StatusEvent,
  type TurnEndEvent,
  type TurnEndReason,
  type UIEvent,
  UNANSWERED,
} from '@chirality/core'

// The events that the host itself writes for a turn. The agent's events come from its harness.

export function notice(sessionId: string, message: string, data: Record<string, unknown> = {}): StatusEvent {
  return {
    type: 'status',
    sessionId,
    status: 'notice',
    level: 'warn',
    message,
    data: { kind: HOST_NOTICE, ...data },
  }
}

/** What the agent is told with its next message. */
export function told(sessionId: string, message: string): StatusEvent {
  return { ...notice(sessionId, message), level: 'info' }
}

/** Agents of one project work in the same folder, without knowing of each other. */
export function sharedFolder(
  sessionId: string,
  others: readonly { sessionId: string; title: string | null }[],
): StatusEvent {
  const [first] = others
  const title = first?.title ? ` ("${first.title.slice(0, 80)}")` : ''
  const who =
    others.length === 1
      ? `Another session${title} is at work in this folder.`
      : `${others.length} other sessions are at work in this folder.`
  const message = `${who} What one agent changes, the other may overwrite.`
  return notice(sessionId, message, { sharedFolderWith: others.map(other => other.sessionId) })
}

export function retrying(sessionId: string, error: string): StatusEvent {
  const message = 'The agent ended before it answered. Nothing was spent, so the message is sent once more.'
  const data = { attempt: 1, maxRetries: 1, error }
  return { type: 'status', sessionId, status: 'retrying', level: 'warn', message, data }
}

export function crashed(sessionId: string, error: string): SessionErrorEvent {
  return { type: 'session:error', sessionId, error, code: 'process_crashed' }
}

/**
 * The end of a turn as it is written to the log: a turn that is over cannot be answered, so its open requests are
 * cancelled first. Every `turn:end` that the host writes goes through here.
 */
export function endOfTurn(
  end: TurnEndEvent,
  pending: readonly Pick<PermissionRequestEvent, 'requestId'>[],
  failure: SessionErrorEvent | null = null,
): UIEvent[] {
  const { sessionId } = end
  const cancelled = pending.map(
    ({ requestId }): PermissionResolvedEvent => ({
      type: 'permission:resolved',
      sessionId,
      requestId,
      outcome: 'cancelled',
      by: 'turn-end',
    }),
  )
  return failure === null ? [...cancelled, end] : [...cancelled, failure, end]
}

export function turnEnd(sessionId: string, reason: TurnEndReason): TurnEndEvent {
  return { type: 'turn:end', sessionId, reason }
}

/**
 * The server was not running when the agent needed an answer, so the session needs attention, even if its turn ended
 * well.
 */
export function askedNobody(request: PermissionRequestEvent, { wentOn }: { wentOn: boolean }): StatusEvent {
  const { sessionId, requestId } = request
  const asked = `Chirality was stopped while the agent waited for an answer (${lineOf(request)}), so nobody could give one.`
  const message = wentOn
    ? `${asked} The call failed, and the agent went on without it.`
    : `${asked} The call was not made, and the agent stopped there. Send a message to go on.`
  return notice(sessionId, message, { requestId, [wentOn ? UNANSWERED.wentOn : UNANSWERED.stopped]: true })
}

/** For the agent that stopped at such a request. */
export function unansweredNote(request: PermissionRequestEvent): string {
  return `Chirality was stopped while you waited for an answer (${lineOf(request)}). Nobody answered, and the call was not made then. If it is still needed and was not made since, make it again.`
}

/** A message or tool call of the model: a turn with any of them has cost money, or changed something. */
export function isOutput(event: UIEvent): boolean {
  // A line that is no event is the output of a failed start, not of the model.
  if (event.type === 'native:unknown') return !NO_EVENTS.has(event.nativeType)
  return OUTPUT.has(event.type)
}

const NO_EVENTS: ReadonlySet<string> = new Set(['malformed', 'oversize'])

const OUTPUT: ReadonlySet<UIEvent['type']> = new Set<UIEvent['type']>([
  'chat:delta',
  'chat:message',
  'chat:thinking',
  'chat:complete',
  'tool:start',
  'tool:input',
  'tool:result',
  'permission:request',
  'session:complete',
  'usage',
])
