import type { PermissionRequestEvent, PermissionResolvedEvent, StatusEvent } from '../events/ui-event.ts'
import type { DecidedBy, PermissionDecision } from '../harness/decision.ts'
import { present } from './shared.ts'
import { toolFacts } from './tool-facts.ts'

// The texts of events that no agent prints. They are the same for a running turn and a raw log.

export interface AskedDecision {
  decision: PermissionDecision
  by: DecidedBy
  /** The policy rule that answered. */
  rule?: string
}

/**
 * The answer as the log has it. Only for what the agent was really given: an agent that cannot run an edited input is
 * given a denial. The note is for an approval that differs from the request.
 */
export function decisionTold(
  request: Pick<PermissionRequestEvent, 'sessionId' | 'requestId'> & Partial<PermissionRequestEvent>,
  { decision, by, rule }: AskedDecision,
  note?: string,
): PermissionResolvedEvent {
  const { sessionId, requestId } = request
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
    ...(allowed ? editOf(request, decision.updatedInput) : {}),
  }
}

/** The answers to a question are in its result; an input that was given back unchanged is no edit. */
function editOf(
  { kind, toolName, toolUseId, input }: Partial<PermissionRequestEvent>,
  updatedInput: Record<string, unknown> | undefined,
): Pick<PermissionResolvedEvent, 'updatedInput' | 'facts' | 'toolUseId'> {
  if (updatedInput === undefined || input === undefined || kind === 'question') return {}
  if (isSameJson(updatedInput, input)) return {}
  const facts = toolName === undefined ? undefined : toolFacts(toolName, updatedInput)
  return present({ updatedInput, facts, toolUseId })
}

/** In JSON a field without a value is no field, and the order of fields says nothing. */
function isSameJson(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b)
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>]
  return [...names].every(name => isSameJson(left[name], right[name]))
}

export function stalled(sessionId: string, idleMs: number): StatusEvent {
  const seconds = Math.round(idleMs / 1000)
  const message = `No output for ${seconds} s. The agent may be waiting for the model or a long command.`
  return { type: 'status', sessionId, status: 'stalled', level: 'warn', message, data: { idleMs } }
}
