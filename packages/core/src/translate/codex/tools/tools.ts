import type { FileEdit, ToolFacts } from '../../../events/tool-facts.ts'
import type { UIEvent } from '../../../events/ui-event.ts'
import { CUT_OFF, present } from '../../shared.ts'
import { editsOfResult, toolFacts } from '../../tool-facts.ts'
import { type CodexCall, type CodexState, newItemId } from '../state.ts'
import { type ItemCall, WEB_SEARCH } from './read-tool.ts'

/** Reports one start per call; a repeated or growing start only updates the input. */
export function startCodexTool(state: CodexState, nativeId: string, facts: ItemCall): UIEvent[] {
  const known = state.tools.get(nativeId)
  const same = known && !known.finished && known.turn === state.turn
  return same ? setInput(state, known, facts) : createTool(state, nativeId, facts)
}

/** Reports the result. A call that ends immediately has no start event. */
export function finishTool(state: CodexState, nativeId: string, facts: ItemCall): UIEvent[] {
  const known = state.tools.get(nativeId) ?? unfinishedSearch(state, facts)
  const events = known ? setInput(state, known, facts) : createTool(state, nativeId, facts)
  const call = known ?? state.tools.get(nativeId)
  if (!call) return events
  call.finished = true
  const { sessionId } = state
  const { content, isError, detail } = facts
  const edits = newEdits(call, facts)
  return [
    ...events,
    present({ type: 'tool:result', sessionId, toolUseId: call.id, content, isError, detail, edits }),
  ]
}

/** The turn failed or was stopped: no call may stay in progress. A command that continues can still report its end. */
export function failOpenTools(state: CodexState): UIEvent[] {
  const { sessionId, turn } = state
  return [...state.tools.values()]
    .filter(call => !call.finished && call.turn === turn)
    .map(({ id: toolUseId }) => ({
      type: 'tool:result',
      sessionId,
      toolUseId,
      content: CUT_OFF,
      isError: true,
    }))
}

/** Finished calls are dropped with their turn; a running command is kept, because it can end in a later one. */
export function forgetFinishedTools(state: CodexState): void {
  for (const [nativeId, call] of state.tools) if (call.finished) state.tools.delete(nativeId)
}

function createTool(state: CodexState, nativeId: string, { name, input, detail }: ItemCall): UIEvent[] {
  state.turn.repeats.acted()
  state.turn.lastRetry = ''
  const id = newItemId(state, nativeId)
  const inputKey = JSON.stringify(input)
  const facts = callFacts({ name, input, detail })
  const editsKey = JSON.stringify(facts.edits)
  state.tools.set(nativeId, {
    id,
    turn: state.turn,
    name,
    input,
    inputKey,
    editsKey,
    finished: false,
    detail,
  })
  return [{ type: 'tool:start', sessionId: state.sessionId, toolUseId: id, name, input, facts }]
}

/** The input of a change names its files; the detail holds the changes. */
function callFacts({ name, input, detail }: Pick<ItemCall, 'name' | 'input' | 'detail'>): ToolFacts {
  const facts = toolFacts(name, input)
  const edits = editsOfResult(detail, input)
  return edits === undefined ? facts : { ...facts, edits }
}

/** The edits of a finished call that were not reported yet. */
function newEdits(call: CodexCall, facts: ItemCall): FileEdit[] | undefined {
  const { edits } = callFacts(facts)
  return JSON.stringify(edits) === call.editsKey ? undefined : edits
}

function setInput(state: CodexState, call: CodexCall, { input, detail }: ItemCall): UIEvent[] {
  call.detail = detail ?? call.detail
  const inputKey = JSON.stringify(input)
  if (inputKey === call.inputKey) return []
  call.input = input
  call.inputKey = inputKey
  const facts = callFacts({ name: call.name, input, detail: call.detail })
  call.editsKey = JSON.stringify(facts.edits)
  return [{ type: 'tool:input', sessionId: state.sessionId, toolUseId: call.id, input, facts }]
}

/** A web search is printed with two ids, and the parser decides which one is kept. */
function unfinishedSearch(state: CodexState, { name }: ItemCall): CodexCall | undefined {
  if (name !== WEB_SEARCH) return undefined
  for (const call of state.tools.values()) if (call.name === name && !call.finished) return call
  return undefined
}
