import type { PermissionRequestEvent, PermissionResolvedEvent, StatusEvent } from '../events/ui-event.ts'
import type { DecidedBy, PermissionDecision } from '../harness/decision.ts'

// The texts of events that no agent prints. They are the same for a running turn and a raw log.

export interface AskedDecision {
  decision: PermissionDecision
  by: DecidedBy
  /** The policy rule that answered. */
  rule?: string
}

/** The note is for an approval that differs from the request. */
export function decisionTold(
  { sessionId, requestId }: Pick<PermissionRequestEvent, 'sessionId' | 'requestId'>,
  { decision, by, rule }: AskedDecision,
  note?: string,
): PermissionResolvedEvent {
  const allowed = decision.behavior === 'allow'
  const message = note ?? (allowed ? undefined : decision.message)
  return {
    type: 'permission:resolved',
    sessionId,
    requestId,
    outcome: allowed ? 'allowed' : 'denied',
    by,
    ...(rule === undefined ? {} : { rule }),
    ...(message === undefined ? {} : { message }),
  }
}

export function stalled(sessionId: string, idleMs: number): StatusEvent {
  const seconds = Math.round(idleMs / 1000)
  const message = `No output for ${seconds} s. The agent may be waiting for the model or a long command.`
  return { type: 'status', sessionId, status: 'stalled', level: 'warn', message, data: { idleMs } }
}
