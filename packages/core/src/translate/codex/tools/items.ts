import type { UIEvent } from '../../../events/ui-event.ts'
import { asArray, asObject, asString, asStrings, asText, type JsonObject } from '../../../native/loose.ts'
import { headline, status } from '../../shared.ts'
import { readTodos } from '../../tool-facts.ts'
import { translateReroute } from '../notices.ts'
import { beginSpeech, finishSpeech } from '../speech.ts'
import type { CodexState } from '../state.ts'
import { codexNotice, snakeCase, unknownOfCodex, warning } from '../ui.ts'
import { readTool } from './read-tool.ts'
import { finishTool, startCodexTool } from './tools.ts'

export type ItemPhase = 'started' | 'updated' | 'completed'

/** Translates one message or action. Both protocols use it, so that both give the same events. */
export function translateItem(state: CodexState, phase: ItemPhase, event: JsonObject): UIEvent[] {
  const item = asObject(event.item)
  const type = asText(item?.type)
  if (!item || !type) return [unknownOfCodex(state, `item/${phase}`, event)]
  const kind = snakeCase(type)
  const completed = phase === 'completed'
  const nativeId = asText(item.id) ?? kind
  switch (kind) {
    case 'agent_message':
      return completed
        ? finishSpeech(state, 'text', { nativeId, text: asString(item.text) })
        : beginSpeech(state, 'text', nativeId)
    case 'reasoning':
      return completed
        ? finishSpeech(state, 'thinking', { nativeId, text: reasoningText(item) })
        : beginSpeech(state, 'thinking', nativeId)
    case 'plan':
      return completed ? finishPlan(state, nativeId, item) : beginSpeech(state, 'text', nativeId)
    case 'todo_list':
      return translateTodoList(state, item, completed)
    case 'error':
      return translateReroute(state, item) ?? warning(state, asText(item.message) ?? '')
    default:
      return completed || !QUIET_STARTS.has(kind)
        ? (translateOther(state, kind, { item, completed }) ??
            translateCall(state, { phase, kind, nativeId, item }))
        : []
  }
}

/** Items that are shown only when they are complete. */
const QUIET_STARTS: ReadonlySet<string> = new Set([
  'user_message',
  'hook_prompt',
  'sub_agent_activity',
  'entered_review_mode',
  'exited_review_mode',
])

interface CallContext {
  phase: ItemPhase
  kind: string
  nativeId: string
  item: JsonObject
}

function translateCall(state: CodexState, { phase, kind, nativeId, item }: CallContext): UIEvent[] {
  const facts = readTool(kind, item, state.facts.cwd)
  if (!facts) return [unknownOfCodex(state, `item/${asText(item.type)}`, item)]
  return phase === 'completed' ? finishTool(state, nativeId, facts) : startCodexTool(state, nativeId, facts)
}

interface ItemContext {
  item: JsonObject
  completed: boolean
}

/** Items that are neither text nor a call. */
function translateOther(
  state: CodexState,
  kind: string,
  { item, completed }: ItemContext,
): UIEvent[] | undefined {
  switch (kind) {
    case 'user_message':
      return translateUserMessage(state, item)
    case 'context_compaction':
      return translateCompaction(state, completed)
    case 'sub_agent_activity': {
      const activity = asText(item.kind) ?? 'changed'
      const agent = asText(item.agentPath) ?? asText(item.agentThreadId)
      const data = {
        taskId: asText(item.agentThreadId),
        status: activity,
        agentThreadId: asText(item.agentThreadId),
        agentPath: asText(item.agentPath),
      }
      return [
        status(state, 'task', { message: `Sub-agent ${agent ?? ''} ${activity}`.replace('  ', ' '), data }),
      ]
    }
    case 'hook_prompt': {
      const output = asArray(item.fragments)
        .map(part => asText(asObject(part)?.text) ?? '')
        .join('\n')
      return output === ''
        ? []
        : [status(state, 'hook', { message: `Hook: ${headline(output)}`, data: { output } })]
    }
    case 'entered_review_mode':
      return codexNotice(state, kind, { message: `Review: ${headline(asText(item.review) ?? 'started')}` })
    case 'exited_review_mode': {
      const review = asText(item.review)
      return codexNotice(state, kind, { message: headline(review ?? 'Review finished'), data: { review } })
    }
    default:
      return undefined
  }
}

/** The first message is the turn's own; only those that are added during the turn are reported. */
function translateUserMessage(state: CodexState, item: JsonObject): UIEvent[] {
  state.turn.userMessages++
  if (state.turn.userMessages === 1) return []
  const text = asArray(item.content)
    .flatMap(part => asText(asObject(part)?.text) ?? [])
    .join('\n')
  return codexNotice(state, 'user_message', { message: headline(text), data: { text } })
}

function translateCompaction(state: CodexState, completed: boolean): UIEvent[] {
  if (!completed) return [status(state, 'compacting', { message: 'Compacting the conversation' })]
  state.turn.compacted = true
  return [status(state, 'compacted', { message: 'Conversation compacted' })]
}

/** The notification of older versions, ignored if an item already reported it. */
export function reportCompacted(state: CodexState): UIEvent[] {
  const told = state.turn.compacted
  const events = translateCompaction(state, true)
  state.turn.compacted = false
  return told ? [] : events
}

/** A proposed plan, not the to-do list. It is the answer of a turn that only planned. */
function finishPlan(state: CodexState, nativeId: string, item: JsonObject): UIEvent[] {
  const { answer } = state.turn
  const events = finishSpeech(state, 'text', { nativeId, text: asString(item.text) })
  state.turn.plan = state.turn.answer
  state.turn.answer = answer
  return events
}

/** `exec` sends a joined summary and never raw reasoning, which is shown only without a summary. */
function reasoningText(item: JsonObject): string | undefined {
  if (typeof item.text === 'string') return item.text
  if (!Array.isArray(item.summary) && !Array.isArray(item.content)) return undefined
  const summary = asStrings(item.summary).join('\n')
  return summary.trim() === '' ? asStrings(item.content).join('\n') : summary
}

/** The to-do list of `exec`, which prints it again, unchanged, at the end of the turn. */
export function translateTodoList(state: CodexState, item: JsonObject, completed: boolean): UIEvent[] {
  if (completed && state.turn.todosShown) return []
  const todos = asArray(item.items).map(value => {
    const todo = asObject(value) ?? {}
    return { text: asText(todo.text) ?? '', completed: todo.completed === true }
  })
  return showTodos(state, todos, {})
}

/** The to-do list of app-server, which also names the current step. */
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
  // A constant id, so that the steps update one line.
  const taskId = `${state.turn.id ?? ''}:plan`
  const line = status(state, 'task', { message, data: { taskId, todos, ...more } })
  return [{ ...line, todos: readTodos(todos, asText(more.active)) }]
}
