import {
  asArray,
  asNumber,
  asObject,
  asString,
  asStrings,
  asText,
  isObject,
  type JsonObject,
} from '../../../native/loose.ts'
import { present } from '../../shared.ts'
import { snakeCase } from '../ui.ts'

/** Undefined if items of this kind are not calls. `kind` is in snake case, as in `exec`. */
export function readTool(
  kind: string,
  item: JsonObject,
  sessionCwd: string | undefined,
): ItemCall | undefined {
  return READERS.get(kind)?.(item, sessionCwd)
}

type Reader = (item: JsonObject, sessionCwd: string | undefined) => ItemCall

/** Only app-server reports the folder of a command; it is shown only if it is not the session's. */
function readCommand(item: JsonObject, sessionCwd: string | undefined): ItemCall {
  const cwd = asText(item.cwd)
  const status = statusOf(item)
  const exitCode = asNumber(item.exit_code ?? item.exitCode)
  const output = asString(item.aggregated_output ?? item.aggregatedOutput) ?? ''
  const isError = callHasFailed(status) || (exitCode ?? 0) !== 0
  const silence = status === 'declined' ? 'Declined: it did not run.' : `Exit code ${exitCode ?? 'unknown'}`
  return {
    name: COMMAND,
    input: present({ command: asString(item.command) ?? '', cwd: cwd === sessionCwd ? undefined : cwd }),
    content: isError && output === '' ? silence : output,
    isError,
    detail: present({ status, exitCode, cwd, durationMs: asNumber(item.durationMs) }),
  }
}

/** `exec` reports a declined change as failed, so both are read the same. */
function readFileChange(item: JsonObject): ItemCall {
  const changes = readChanges(item.changes)
  const isError = callHasFailed(statusOf(item))
  return {
    name: FILE_CHANGE,
    input: { changes: plainChanges(changes) },
    content: `${isError ? 'Not applied:\n' : ''}${describeChanges(changes)}`,
    isError,
    detail: changes.some(change => change.diff !== undefined) ? { changes } : undefined,
  }
}

function readMcpCall(item: JsonObject): ItemCall {
  const result = asObject(item.result)
  const error = asText(asObject(item.error)?.message)
  const structuredContent = result?.structured_content ?? result?.structuredContent ?? undefined
  return {
    name: mcpToolName(asText(item.server) ?? 'server', asText(item.tool) ?? 'tool'),
    input: argumentsOf(item),
    content: error ?? flattenParts(result?.content),
    isError: error !== undefined || callHasFailed(statusOf(item)),
    detail: structuredContent === undefined ? undefined : { structuredContent },
  }
}

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['command_execution', readCommand],
  ['file_change', readFileChange],
  ['mcp_tool_call', readMcpCall],
  ['collab_tool_call', readCollaboration],
  ['collab_agent_tool_call', readCollaboration],
  ['web_search', readWebSearch],
  ['dynamic_tool_call', readHostCall],
  ['function_call_output', readFunctionOutput],
  ['image_view', readImageView],
  ['image_generation', readImageGeneration],
  ['sleep', readSleep],
])

/** A host tool without MCP. */
export function readHostCall(item: JsonObject): ItemCall {
  return {
    name: qualified(item.namespace, item.tool),
    input: argumentsOf(item),
    content: flattenParts(item.contentItems),
    isError: item.success === false || callHasFailed(statusOf(item)),
  }
}

export function readCollaboration(item: JsonObject): ItemCall {
  const states = Object.entries(asObject(item.agents_states ?? item.agentsStates) ?? {})
  const agents = states.map(([threadId, value]) => {
    const state = asObject(value)
    return present({
      threadId,
      status: snakeCase(asText(state?.status) ?? 'unknown'),
      message: asText(state?.message),
    })
  })
  const threadIds = asStrings(item.receiver_thread_ids ?? item.receiverThreadIds)
  return {
    name: snakeCase(asText(item.tool) ?? 'agent'),
    input: present({ prompt: asText(item.prompt), threadIds: threadIds.length > 0 ? threadIds : undefined }),
    content: agents.map(agent => `${agent.threadId}: ${agent.message ?? agent.status}`).join('\n'),
    isError: callHasFailed(statusOf(item)),
    detail: { agents },
  }
}

export function readWebSearch(item: JsonObject): ItemCall {
  const action = asObject(item.action)
  const type = action && snakeCase(asText(action.type) ?? 'other')
  const queries = asStrings(action?.queries)
  const url = asText(action?.url)
  const query = asText(item.query) ?? asText(action?.query)
  return {
    name: WEB_SEARCH,
    input: present({
      query: query ?? '',
      action: type,
      queries: queries.length > 0 ? queries : undefined,
      url,
    }),
    content: url ?? (queries.length > 0 ? queries.join('\n') : (query ?? '')),
    isError: false,
    detail: Array.isArray(item.results) ? { results: asArray(item.results) } : undefined,
  }
}

/** The spool keeps the image itself, in base64. */
export function readImageGeneration(item: JsonObject): ItemCall {
  const savedPath = asText(item.savedPath)
  const failure = asText(asObject(item.failure)?.type)
  return {
    name: 'image_generation',
    input: present({ prompt: asText(item.revisedPrompt) }),
    content: failure ?? savedPath ?? '[image]',
    isError: failure !== undefined || callHasFailed(statusOf(item)),
    detail: savedPath ? { savedPath } : undefined,
  }
}

export function readFunctionOutput(item: JsonObject): ItemCall {
  const name = qualified(item.namespace, item.name)
  return { name, input: {}, content: flattenParts(item.output), isError: false }
}

export function readImageView(item: JsonObject): ItemCall {
  const input = present({ path: asText(item.path) })
  return { name: 'view_image', input, content: '[image]', isError: false }
}

export function readSleep(item: JsonObject): ItemCall {
  const input = present({ durationMs: asNumber(item.durationMs) })
  return { name: 'sleep', input, content: '', isError: false }
}

function qualified(namespace: unknown, tool: unknown): string {
  const name = asText(tool) ?? 'tool'
  const prefix = asText(namespace)
  return prefix ? `${prefix}__${name}` : name
}

export interface FileChange {
  path: string
  kind: string
  /** Only from app-server: a unified diff, or the whole content of an added or deleted file. */
  diff?: string
  movePath?: string
}

export function readChanges(value: unknown): FileChange[] {
  return asArray(value).flatMap(entry => {
    const change = asObject(entry)
    const path = asText(change?.path)
    if (!change || !path) return []
    const { type, movePath } = readKind(change.kind)
    return [present({ path, kind: type, diff: asText(change.diff), movePath })]
  })
}

/** The fields that both protocols report. */
export function plainChanges(changes: readonly FileChange[]): JsonObject[] {
  return changes.map(({ path, kind }) => ({ path, kind }))
}

export function describeChanges(changes: readonly FileChange[]): string {
  return changes.map(({ path, kind }) => `${kind} ${path}`).join('\n')
}

/** `exec` says `"add"`, app-server `{ type: "update", move_path: … }`. */
function readKind(value: unknown): { type: string; movePath: string | undefined } {
  const kind = asObject(value)
  return {
    type: asText(value) ?? asText(kind?.type) ?? 'change',
    movePath: asText(kind?.move_path) ?? asText(kind?.movePath),
  }
}

/** A tool call, the same for both protocols. The last three fields are set when it is complete. */
export interface ItemCall {
  name: string
  input: JsonObject
  content: string
  isError: boolean
  detail?: JsonObject
}

export const COMMAND = 'command'
export const FILE_CHANGE = 'file_change'
export const WEB_SEARCH = 'web_search'

export function mcpToolName(server: string, tool: string): string {
  return `mcp__${server}__${tool}`
}

export function statusOf(item: JsonObject): string | undefined {
  const status = asText(item.status)
  return status && snakeCase(status)
}

export function callHasFailed(status: string | undefined): boolean {
  return status === 'failed' || status === 'declined' || status === 'interrupted'
}

export function argumentsOf(item: JsonObject): JsonObject {
  const value = item.arguments ?? {}
  return asObject(value) ?? { arguments: value }
}

/** The text of an MCP or host tool's result: parts joined by newlines, other content named in brackets. */
export function flattenParts(content: unknown): string {
  if (typeof content === 'string') return content
  return asArray(content).map(flattenPart).join('\n')
}

function flattenPart(value: unknown): string {
  if (typeof value === 'string') return value
  const part = asObject(value) ?? {}
  if (typeof part.text === 'string') return part.text
  const resource = isObject(part.resource) ? part.resource : part
  if (typeof resource.text === 'string') return resource.text
  const type = asText(part.type) ?? 'content'
  const what = asText(resource.mimeType) ?? asText(resource.uri) ?? asText(resource.name)
  return `[${[type, what].filter(Boolean).join(' ')}]`
}
