import type { ToolFacts } from '../../../events/tool-facts.ts'
import type { PermissionRequestEvent, UIEvent } from '../../../events/ui-event.ts'
import type { CodexServerRequest } from '../../../native/codex/codex-event.ts'
import { asArray, asObject, asString, asText, type JsonObject } from '../../../native/loose.ts'
import { present } from '../../shared.ts'
import { toolFacts } from '../../tool-facts.ts'
import type { CodexCall, CodexState } from '../state.ts'
import { COMMAND, FILE_CHANGE, mcpToolName } from './read-tool.ts'

/** Requests that the host's code answers without the user. */
export const HOST_REQUESTS: readonly string[] = [
  'account/chatgptAuthTokens/refresh',
  'attestation/generate',
  'item/tool/call',
]

/** A request of an unknown kind is shown as well, because the agent waits for an answer. */
export function translateRequest(state: CodexState, request: CodexServerRequest): UIEvent[] {
  const { id, method } = request
  if (HOST_REQUESTS.includes(method)) return []
  const params = asObject(request.params) ?? {}
  const threadId = asText(params.threadId)
  // The server counts from 0 in every process; with the turn's id the request id is unique in the session.
  const requestId = `${asText(params.turnId) ?? threadId ?? state.threadId ?? HOST_LEVEL}:${id}`
  state.requests.set(id, requestId)
  return [
    present({
      type: 'permission:request',
      sessionId: state.sessionId,
      requestId,
      ...withFacts(describe(state, method, params)),
      agentId: threadId && threadId !== state.threadId ? threadId : undefined,
      raw: request,
    }),
  ]
}

/** Sent for every request, answered or not; after an interrupt only when the turn has ended. */
export function translateResolved(state: CodexState, params: JsonObject): UIEvent[] {
  const { requestId } = params
  return typeof requestId === 'string' || typeof requestId === 'number' ? withdraw(state, requestId) : []
}

export function withdrawRequests(state: CodexState): UIEvent[] {
  return [...state.requests.keys()].flatMap(id => withdraw(state, id))
}

/** The host has answered, so the agent's confirmation is not reported. */
export function forgetRequest(state: CodexState, requestId: string): void {
  for (const [id, ours] of state.requests) if (ours === requestId) state.requests.delete(id)
}

const HOST_LEVEL = 'host'

function withdraw(state: CodexState, id: string | number): UIEvent[] {
  const requestId = state.requests.get(id)
  if (requestId === undefined) return []
  state.requests.delete(id)
  const { sessionId } = state
  return [{ type: 'permission:resolved', sessionId, requestId, outcome: 'cancelled', by: 'agent' }]
}

type Description = Pick<
  PermissionRequestEvent,
  'kind' | 'toolName' | 'input' | 'toolUseId' | 'reason' | 'suggestions'
>

function withFacts(request: Description): Description & { facts?: ToolFacts } {
  return request.kind === 'unknown'
    ? request
    : { ...request, facts: toolFacts(request.toolName, request.input) }
}

function describe(state: CodexState, method: string, params: JsonObject): Description {
  const call = state.tools.get(asText(params.itemId) ?? '')
  const reason = asText(params.reason)
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return { kind: 'tool', toolName: COMMAND, ...commandRequest(params), toolUseId: call?.id, reason }
    case 'item/fileChange/requestApproval': {
      const input = present({ ...asObject(call?.detail ?? call?.input), grantRoot: asText(params.grantRoot) })
      return { kind: 'tool', toolName: FILE_CHANGE, input, toolUseId: call?.id, reason }
    }
    case 'item/permissions/requestApproval': {
      const input = present({ permissions: params.permissions, cwd: asText(params.cwd) })
      return { kind: 'tool', toolName: 'request_permissions', input, toolUseId: call?.id, reason }
    }
    case 'item/tool/requestUserInput': {
      const input = { questions: asArray(params.questions) }
      return { kind: 'question', toolName: 'request_user_input', input, toolUseId: call?.id, reason }
    }
    case 'mcpServer/elicitation/request':
      return elicitation(state, params)
    default:
      return { kind: 'unknown', toolName: method, input: {}, toolUseId: call?.id, reason }
  }
}

function commandRequest(params: JsonObject): Pick<Description, 'input' | 'suggestions'> {
  return {
    input: present({
      command: asString(params.command),
      cwd: asText(params.cwd),
      network: asObject(params.networkApprovalContext),
    }),
    suggestions: Array.isArray(params.availableDecisions) ? asArray(params.availableDecisions) : undefined,
  }
}

/** Codex requests permission for an MCP tool as a question from the tool's server. */
function elicitation(state: CodexState, params: JsonObject): Description {
  const server = asText(params.serverName) ?? 'server'
  const meta = asObject(params._meta)
  const message = asText(params.message)
  if (meta?.codex_approval_kind !== 'mcp_tool_call') {
    const input = present({ message, url: asText(params.url), schema: params.requestedSchema ?? undefined })
    return { kind: 'question', toolName: `mcp__${server}`, input, reason: message }
  }
  const input = asObject(meta.tool_params) ?? {}
  const call = openMcpCall(state, server, input)
  const named = /tool "([^"]+)"/.exec(message ?? '')?.[1]
  const toolName = call?.name ?? mcpToolName(server, named ?? 'tool')
  return {
    kind: 'tool',
    toolName,
    input,
    toolUseId: call?.id,
    reason: message,
    suggestions: asArrayOrNone(meta.persist),
  }
}

/** The call of a request, which does not name it. */
function openMcpCall(state: CodexState, server: string, input: JsonObject): CodexCall | undefined {
  const open = [...state.tools.values()].filter(
    call => !call.finished && call.name.startsWith(mcpToolName(server, '')),
  )
  return open.find(call => call.inputKey === JSON.stringify(input)) ?? open.at(-1)
}

function asArrayOrNone(value: unknown): unknown[] | undefined {
  return Array.isArray(value) ? value : undefined
}
