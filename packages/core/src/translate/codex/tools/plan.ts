import type { UIEvent } from '../../../events/ui-event.ts'
import { asArray, asObject, asText, type JsonObject } from '../../../native/loose.ts'
import type { CodexState } from '../state.ts'
import { status } from '../ui.ts'

/** The to-do list of `exec`. When the turn ends it is printed once more, unchanged. */
export function translateTodoList(state: CodexState, item: JsonObject, completed: boolean): UIEvent[] {
  if (completed && state.turn.todosShown) return []
  const todos = asArray(item.items).map(value => {
    const todo = asObject(value) ?? {}
    return { text: asText(todo.text) ?? '', completed: todo.completed === true }
  })
  return showTodos(state, todos, {})
}

/** The same list from app-server, which also knows what the agent is at. */
export function translatePlan(state: CodexState, params: JsonObject): UIEvent[] {
  const steps = asArray(params.plan).map(value => asObject(value) ?? {})
  const todos = steps.map(step => ({ text: asText(step.step) ?? '', completed: step.status === 'completed' }))
  const active = asText(steps.find(step => step.status === 'inProgress')?.step)
  return showTodos(state, todos, { active, explanation: asText(params.explanation) })
}

function showTodos(
  state: CodexState,
  todos: readonly { text: string; completed: boolean }[],
  more: JsonObject,
): UIEvent[] {
  state.turn.todosShown = true
  state.turn.repeats.acted()
  const done = todos.filter(todo => todo.completed).length
  const message = `Plan: ${done} of ${todos.length} done`
  // One line that changes, not a new one for every step.
  const taskId = `${state.turn.id ?? ''}:plan`
  return [status(state, 'task', { message, data: { taskId, todos, ...more } })]
}
