import type {
  PermissionRequestEvent,
  PermissionResolvedEvent,
  SessionErrorEvent,
  StatusEvent,
  TurnEndEvent,
  TurnEndReason,
  UIEvent,
} from '@chirality/core'
import { lineOf } from './last-line.ts'

// What the host itself says about a turn. All that the agent says comes from its harness.

export function notice(sessionId: string, message: string, data: Record<string, unknown> = {}): StatusEvent {
  return {
    ...{ type: 'status', sessionId, status: 'notice', level: 'warn', message },
    data: { kind: 'chirality', ...data },
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

export function turnEnd(sessionId: string, reason: TurnEndReason): TurnEndEvent {
  return { type: 'turn:end', sessionId, reason }
}

export function unanswered(sessionId: string, requestId: string): PermissionResolvedEvent {
  return { type: 'permission:resolved', sessionId, requestId, outcome: 'cancelled', by: 'turn-end' }
}

/** Chirality was gone when the agent needed an answer, so the session needs a person, also where its turn ended well. */
export function askedNobody(request: PermissionRequestEvent, { wentOn }: { wentOn: boolean }): StatusEvent {
  const { sessionId, requestId } = request
  const asked = `Chirality was stopped while the agent waited for an answer (${lineOf(request)}), so nobody could give one.`
  const message = wentOn
    ? `${asked} The call failed, and the agent went on without it.`
    : `${asked} The call was not made, and the agent stopped there. Send a message to go on.`
  return notice(sessionId, message, { requestId, [wentOn ? WENT_ON : STOPPED_THERE]: true })
}

/** Whether an event says that the agent asked and nobody was there. */
export function isLeftUnanswered({ data }: StatusEvent): boolean {
  return data?.kind === 'chirality' && (data[WENT_ON] === true || data[STOPPED_THERE] === true)
}

const WENT_ON = 'wentOnUnanswered'
const STOPPED_THERE = 'stoppedUnanswered'

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
