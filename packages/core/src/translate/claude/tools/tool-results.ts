import type { UIEvent } from '../../../events/ui-event.ts'
import { asArray, asObject, asString, asText, isObject, type JsonObject } from '../../../native/loose.ts'
import type { TranslatorState } from '../state.ts'
import { present } from '../ui.ts'

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
  if (call) call.finished = true
  return present({
    type: 'tool:result',
    sessionId: state.sessionId,
    toolUseId,
    content: isLaunch(context.detail) ? LAUNCHED : flattenContent(block.content),
    isError: block.is_error === true,
    detail: trimDetail(context.detail),
    parentToolUseId: context.parent,
  })
}

/** A sub-agent that was sent to the background: what the model is told of it is not for people. */
function isLaunch(detail: unknown): boolean {
  return asObject(detail)?.status === 'async_launched'
}

const LAUNCHED = 'The agent works in the background.'

/** Text of a result or message: parts joined by newlines, what is no text named in brackets. */
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
