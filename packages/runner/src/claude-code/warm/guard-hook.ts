import {
  type ClaudeEvent,
  decisionTold,
  type Guard,
  type GuardVerdict,
  type PermissionRequestEvent,
  type UIEvent,
} from '@chirality/core'
import { asObject } from '../../common/json.ts'
import { askGuard } from '../../turn/questions.ts'

/** The process keeps the hook that it was started with; each call is checked by the guard of the running turn. */
export class GuardHook {
  #guard: Guard
  /** By tool call, because an SDK with hooks of its own sends the same call more than once. */
  readonly #verdicts = new Map<string, Promise<GuardVerdict>>()

  constructor(guard: Guard) {
    this.#guard = guard
  }

  use(guard: Guard): void {
    this.#guard = guard
  }

  /** Undefined for any other request of the agent. */
  requestIn(event: ClaudeEvent): HookRequest | undefined {
    if (event.type !== 'control_request') return undefined
    const { subtype, input } = asObject(event.request)
    const hook = asObject(input)
    if (subtype !== 'hook_callback' || hook.hook_event_name !== 'PreToolUse') return undefined
    const requestId = String(event.request_id)
    return {
      requestId,
      toolName: String(hook.tool_name),
      input: asObject(hook.tool_input),
      toolUseId: typeof hook.tool_use_id === 'string' ? hook.tool_use_id : requestId,
      raw: event,
    }
  }

  async answer(request: HookRequest, sessionId: string): Promise<HookAnswer> {
    const { toolName, input, toolUseId } = request
    const known = this.#verdicts.get(toolUseId)
    const asked = known ?? askGuard(this.#guard, { toolName, input, toolUseId })
    if (!known) this.#remember(toolUseId, asked)
    const verdict = await asked
    if (verdict.effect === 'pass') return { output: {}, told: [] }
    const output = preToolUse(verdict.effect, verdict.reason)
    const isNews = verdict.effect === 'deny' && !known
    return { output, told: isNews ? deniedEvents(request, sessionId, verdict) : [] }
  }

  #remember(toolUseId: string, verdict: Promise<GuardVerdict>): void {
    this.#verdicts.set(toolUseId, verdict)
    const [oldest] = this.#verdicts.keys()
    if (this.#verdicts.size > MAX_REMEMBERED && oldest !== undefined) this.#verdicts.delete(oldest)
  }
}

export interface HookRequest {
  requestId: string
  toolName: string
  input: Record<string, unknown>
  toolUseId: string
  raw: ClaudeEvent
}

export interface HookAnswer {
  /** The decision in the hook's output format. */
  output: Record<string, unknown>
  told: UIEvent[]
}

/** `hooks` of the `initialize` request. */
export function guardHooks({ blocksOnFailure }: { blocksOnFailure: boolean }): Record<string, unknown> {
  const onFailure = blocksOnFailure ? { onFailure: 'block' } : {}
  return { PreToolUse: [{ hookCallbackIds: ['guard'], timeout: GUARD_TIMEOUT_S, ...onFailure }] }
}

/**
 * A guard only evaluates rules, but on a busy machine that can be slow, and the agent treats a late hook as no
 * objection.
 */
export const GUARD_TIMEOUT_S = 600
const MAX_REMEMBERED = 100

function preToolUse(permissionDecision: 'ask' | 'deny', reason: string): Record<string, unknown> {
  const decision = { permissionDecision, permissionDecisionReason: reason }
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } }
}

/** The agent sends no permission request for a call that a hook denies; the user sees one that a rule has answered. */
function deniedEvents(
  { requestId, toolName, input, toolUseId, raw }: HookRequest,
  sessionId: string,
  { reason, rule }: Extract<GuardVerdict, { effect: 'deny' }>,
): UIEvent[] {
  const request: PermissionRequestEvent = {
    type: 'permission:request',
    sessionId,
    requestId,
    kind: 'tool',
    toolName,
    input,
    toolUseId,
    raw,
  }
  const decision = { behavior: 'deny' as const, message: reason }
  return [request, decisionTold(request, { decision, by: 'policy', ...(rule === undefined ? {} : { rule }) })]
}
