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

// What the host itself says about a turn. All that the agent says comes from its harness.

export function notice(sessionId: string, message: string, data: Record<string, unknown> = {}): StatusEvent {
  return {
    ...{ type: 'status', sessionId, status: 'notice', level: 'warn', message },
    data: { kind: HOST_NOTICE, ...data },
  }
}

/** Agents of one project work in one folder, and none knows of the other. */
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
 * The end of a turn, as the log gets it: nobody answers a turn that is over, so whatever is still open is cancelled first. All
 * ends that the host writes go through here.
 */
export function endOfTurn(
  end: TurnEndEvent,
  pending: readonly Pick<PermissionRequestEvent, 'requestId'>[],
  failure: SessionErrorEvent | null = null,
): UIEvent[] {
  const { sessionId } = end
  const cancelled = pending.map(
    ({ requestId }): PermissionResolvedEvent => ({
      ...{ type: 'permission:resolved', sessionId, requestId, outcome: 'cancelled', by: 'turn-end' },
    }),
  )
  return failure === null ? [...cancelled, end] : [...cancelled, failure, end]
}

export function turnEnd(sessionId: string, reason: TurnEndReason): TurnEndEvent {
  return { type: 'turn:end', sessionId, reason }
}

/** Chirality was gone when the agent needed an answer, so the session needs a person, also where its turn ended well. */
export function askedNobody(request: PermissionRequestEvent, { wentOn }: { wentOn: boolean }): StatusEvent {
  const { sessionId, requestId } = request
  const asked = `Chirality was stopped while the agent waited for an answer (${lineOf(request)}), so nobody could give one.`
  const message = wentOn
    ? `${asked} The call failed, and the agent went on without it.`
    : `${asked} The call was not made, and the agent stopped there. Send a message to go on.`
  return notice(sessionId, message, { requestId, [wentOn ? UNANSWERED.wentOn : UNANSWERED.stopped]: true })
}

/** Something the model said or did: a turn with any of it has cost money, or changed something. */
export function isOutput(event: UIEvent): boolean {
  // A line that is no event says nothing: what comes of a broken start.
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
