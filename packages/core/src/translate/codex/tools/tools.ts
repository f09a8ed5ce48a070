import type { UIEvent } from '../../../events/ui-event.ts'
import { present } from '../../shared.ts'
import { type CodexState, newItemId, type ToolCall } from '../state.ts'
import { type ToolFacts, WEB_SEARCH } from './read-tool.ts'

/** One start per call; what begins again, or grows while the model writes it, only has new input. */
export function startTool(state: CodexState, nativeId: string, facts: ToolFacts): UIEvent[] {
  const known = state.tools.get(nativeId)
  const same = known && !known.finished && known.turn === state.turn
  return same ? setInput(state, known, facts) : createTool(state, nativeId, facts)
}

/** Often the first that is heard of a call: what is over at once has no start. */
export function finishTool(state: CodexState, nativeId: string, facts: ToolFacts): UIEvent[] {
  const known = state.tools.get(nativeId) ?? unfinishedSearch(state, facts)
  const events = known ? setInput(state, known, facts) : createTool(state, nativeId, facts)
  const call = known ?? state.tools.get(nativeId)
  if (!call) return events
  call.finished = true
  const { sessionId } = state
  const { content, isError, detail } = facts
  return [
    ...events,
    present({ type: 'tool:result', sessionId, toolUseId: call.id, content, isError, detail }),
  ]
}

/** The turn failed or was stopped: nothing may look busy for ever. A command that goes on can still end, and say how. */
export function failOpenTools(state: CodexState): UIEvent[] {
  const { sessionId, turn } = state
  return [...state.tools.values()]
    .filter(call => !call.finished && call.turn === turn)
    .map(({ id: toolUseId }) => ({
      type: 'tool:result',
      sessionId,
      toolUseId,
      content: 'No result: the turn ended before this was over.',
      isError: true,
    }))
}

/** Finished calls are forgotten with their turn; a command can go on, and end in a later one. */
export function forgetFinishedTools(state: CodexState): void {
  for (const [nativeId, call] of state.tools) if (call.finished) state.tools.delete(nativeId)
}

function createTool(state: CodexState, nativeId: string, { name, input, detail }: ToolFacts): UIEvent[] {
  state.turn.repeats.acted()
  state.turn.lastRetry = ''
  const id = newItemId(state, nativeId)
  const inputKey = JSON.stringify(input)
  state.tools.set(nativeId, { id, turn: state.turn, name, input, inputKey, finished: false, detail })
  return [{ type: 'tool:start', sessionId: state.sessionId, toolUseId: id, name, input }]
}

function setInput(state: CodexState, call: ToolCall, { input, detail }: ToolFacts): UIEvent[] {
  call.detail = detail ?? call.detail
  const inputKey = JSON.stringify(input)
  if (inputKey === call.inputKey) return []
  call.input = input
  call.inputKey = inputKey
  return [{ type: 'tool:input', sessionId: state.sessionId, toolUseId: call.id, input }]
}

/** A web search is printed with two ids, and which of them a parser keeps is up to the parser. */
function unfinishedSearch(state: CodexState, { name }: ToolFacts): ToolCall | undefined {
  if (name !== WEB_SEARCH) return undefined
  for (const call of state.tools.values()) if (call.name === name && !call.finished) return call
  return undefined
}
