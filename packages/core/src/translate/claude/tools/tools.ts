import type { UIEvent } from '../../../events/ui-event.ts'
import { asObject, type JsonObject } from '../../../native/loose.ts'
import type { Scope, TranslatorState } from '../state.ts'
import { present } from '../ui.ts'

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

/** Nothing if the call is already known: there is one start per call. */
export function startTool(state: TranslatorState, scope: Scope, block: ToolUseBlock): UIEvent[] {
  if (state.tools.has(block.id)) return []
  const { parentToolUseId } = scope
  state.tools.set(block.id, { parentToolUseId, finished: false })
  return [
    present({
      type: 'tool:start',
      sessionId: state.sessionId,
      toolUseId: block.id,
      name: block.name,
      input: asObject(block.input) ?? {},
      parentToolUseId,
    }),
  ]
}

/** The call is complete: all of its input, either with the start or after it. */
export function confirmTool(state: TranslatorState, scope: Scope, block: ToolUseBlock): UIEvent[] {
  if (scope.open?.kind === 'tool' && scope.open.toolUseId === block.id) scope.open = null
  const started = startTool(state, scope, block)
  const input = asObject(block.input) ?? {}
  const call = state.tools.get(block.id)
  if (call && block.name === PLAN_TOOL) call.plan = input
  if (started.length > 0) return started
  const { parentToolUseId } = scope
  return [
    present({
      type: 'tool:input',
      sessionId: state.sessionId,
      toolUseId: block.id,
      input,
      parentToolUseId,
    }),
  ]
}
