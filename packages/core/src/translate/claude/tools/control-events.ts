import type { PermissionRequestEvent, UIEvent } from '../../../events/ui-event.ts'
import type {
  ClaudeControlCancelRequestEvent,
  ClaudeControlRequestEvent,
} from '../../../native/claude/other-events.ts'
import { asArray, asObject, asText, type JsonObject } from '../../../native/loose.ts'
import { present } from '../../shared.ts'
import { toolFacts } from '../../tool-facts.ts'
import { type ToolCall, type TranslatorState, unknown } from '../state.ts'
import { PLAN_TOOL } from './tools.ts'

/** Requests that the host's own code answers, without a person. */
const HOST_REQUESTS: readonly string[] = ['hook_callback', 'mcp_message']

const KIND_BY_TOOL: ReadonlyMap<string, PermissionRequestEvent['kind']> = new Map([
  ['AskUserQuestion', 'question'],
  [PLAN_TOOL, 'plan'],
] as const)

/** A request of an unknown kind is emitted too, because the agent waits for an answer. */
export function translateControlRequest(state: TranslatorState, event: ClaudeControlRequestEvent): UIEvent[] {
  const requestId = asText(event.request_id)
  const request = asObject(event.request)
  if (!requestId || !request) return [unknown(state, 'control_request', event)]
  const subtype = asText(request.subtype) ?? 'unknown'
  if (HOST_REQUESTS.includes(subtype)) return []
  state.openRequests.add(requestId)
  const common = { type: 'permission:request', sessionId: state.sessionId, requestId, raw: event } as const
  if (subtype === 'can_use_tool') return [present({ ...common, ...toolRequest(state, request) })]
  return [{ ...common, kind: 'unknown', toolName: subtype, input: {} }]
}

export function translateControlCancel(
  state: TranslatorState,
  event: ClaudeControlCancelRequestEvent,
): UIEvent[] {
  const requestId = asText(event.request_id)
  if (!requestId || !state.openRequests.delete(requestId)) return []
  return [
    { type: 'permission:resolved', sessionId: state.sessionId, requestId, outcome: 'cancelled', by: 'agent' },
  ]
}

function toolRequest(state: TranslatorState, request: JsonObject) {
  const toolName = asText(request.tool_name) ?? 'unknown'
  const toolUseId = asText(request.tool_use_id)
  const agentId = asText(request.agent_id)
  const call = state.tools.get(toolUseId ?? '')
  // The person who answers a request knows the answer, so the result's list of denials need not repeat it.
  if (toolUseId) state.knownDenials.add(toolUseId)
  const input = inputOf(request, call)
  return {
    kind: KIND_BY_TOOL.get(toolName) ?? 'tool',
    toolName,
    input,
    facts: toolFacts(toolName, input),
    toolUseId,
    reason: asText(request.decision_reason),
    suggestions: Array.isArray(request.permission_suggestions)
      ? asArray(request.permission_suggestions)
      : undefined,
    agentId,
    // 2.1.197 asks before it prints the sub-agent's call; the sub-agent's task is known by then.
    parentToolUseId: call ? call.parentToolUseId : state.tasks.get(agentId ?? '')?.toolUseId,
  }
}

/** 2.1.325 leaves out a plan that the model put into its call instead of the plan file. */
function inputOf(request: JsonObject, call: ToolCall | undefined): JsonObject {
  const input = asObject(request.input) ?? {}
  return call?.name === PLAN_TOOL && Object.keys(input).length === 0 ? call.input : input
}
