import type { FileEdit } from '../../../events/tool-facts.ts'
import type { UIEvent } from '../../../events/ui-event.ts'
import { asArray, asObject, asString, asText, isObject, type JsonObject } from '../../../native/loose.ts'
import { present } from '../../shared.ts'
import { editsOfResult, toolFacts } from '../../tool-facts.ts'
import type { ClaudeCall, Scope, TranslatorState } from '../state.ts'

export interface ToolUseBlock extends JsonObject {
  id: string
  name: string
}

export const PLAN_TOOL = 'ExitPlanMode'

/** Calls that the agent runs itself, and calls that run at the model API. */
const TOOL_USE_TYPES: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use'])

export function isToolUse(block: JsonObject): block is ToolUseBlock {
  return TOOL_USE_TYPES.has(block.type) && typeof block.id === 'string' && typeof block.name === 'string'
}

/** Empty if the call is already known: there is one start for each call. */
export function startClaudeTool(state: TranslatorState, scope: Scope, block: ToolUseBlock): UIEvent[] {
  if (state.tools.has(block.id)) return []
  const { parentToolUseId } = scope
  const input = asObject(block.input) ?? {}
  const facts = toolFacts(block.name, input)
  state.tools.set(block.id, { name: block.name, input, parentToolUseId, finished: false })
  return [
    present({
      type: 'tool:start',
      sessionId: state.sessionId,
      toolUseId: block.id,
      name: block.name,
      input,
      facts,
      parentToolUseId,
    }),
  ]
}

/** The call is complete: its whole input comes with the start or after it. */
export function confirmTool(state: TranslatorState, scope: Scope, block: ToolUseBlock): UIEvent[] {
  if (scope.open?.kind === 'tool' && scope.open.toolUseId === block.id) scope.open = null
  const started = startClaudeTool(state, scope, block)
  const input = asObject(block.input) ?? {}
  const call = state.tools.get(block.id)
  if (call) call.input = input
  if (started.length > 0) return started
  const { parentToolUseId } = scope
  return [
    present({
      type: 'tool:input',
      sessionId: state.sessionId,
      toolUseId: block.id,
      input,
      facts: toolFacts(block.name, input),
      parentToolUseId,
    }),
  ]
}

export interface ToolResultBlock extends JsonObject {
  tool_use_id: string
}

/** `tool_result`, and `web_search_tool_result` and its like from tools that run at the model API. */
export function isToolResult(block: JsonObject): block is ToolResultBlock {
  return asString(block.type)?.endsWith('tool_result') === true && typeof block.tool_use_id === 'string'
}

export interface ToolResultContext {
  parent: string | undefined
  /** The event's `tool_use_result`. */
  detail?: unknown
}

export function translateToolResult(
  state: TranslatorState,
  block: ToolResultBlock,
  context: ToolResultContext,
): UIEvent {
  const toolUseId = block.tool_use_id
  const call = state.tools.get(toolUseId)
  const edits = resultEdits(call, context.detail)
  if (call) {
    call.finished = true
    call.input = NO_INPUT
  }
  return present({
    type: 'tool:result',
    sessionId: state.sessionId,
    toolUseId,
    content: isLaunch(context.detail) ? LAUNCHED : flattenContent(block.content),
    isError: block.is_error === true,
    detail: trimDetail(context.detail),
    edits,
    parentToolUseId: context.parent,
  })
}

/** For a new file the call has the same text, unless a person changed it in the request. */
function resultEdits(call: ClaudeCall | undefined, detail: unknown): FileEdit[] | undefined {
  const { name = '', input = {} } = call ?? {}
  const edits = editsOfResult(detail, input)
  const [asked] = toolFacts(name, input).edits ?? []
  const isSaid = edits?.every(
    ({ path, text }) => text !== undefined && asked?.text === text && asked.path === path,
  )
  return isSaid ? undefined : edits
}

/** Forgets a call that is over: its input can be a whole file. */
const NO_INPUT: JsonObject = {}

/** A sub-agent that was sent to the background: the text for the model is not shown. */
function isLaunch(detail: unknown): boolean {
  return asObject(detail)?.status === 'async_launched'
}

const LAUNCHED = 'The agent works in the background.'

/** Text of a result or message: parts joined by newlines, other content named in brackets. */
export function flattenContent(content: unknown): string {
  if (typeof content === 'string') return content
  if (isObject(content)) return flattenPart(content)
  return asArray(content).map(flattenPart).join('\n')
}

function flattenPart(part: unknown): string {
  if (typeof part === 'string') return part
  const block = asObject(part)
  if (typeof block?.text === 'string') return block.text
  const type = asText(block?.type) ?? 'content'
  const mediaType = asText(asObject(block?.source)?.media_type)
  const name = asText(block?.tool_name) ?? asText(block?.title) ?? asText(block?.url)
  return `[${[type, mediaType ?? name].filter(Boolean).join(' ')}]`
}

/** `originalFile` is the whole file before an edit, and a picture comes as base64: both can be megabytes. */
function trimDetail(detail: unknown): unknown {
  if (!isObject(detail)) return undefined
  const { originalFile: _, ...rest } = detail
  if (isObject(rest.file) && 'base64' in rest.file) {
    const { base64: __, ...file } = rest.file
    rest.file = file
  }
  return rest
}
