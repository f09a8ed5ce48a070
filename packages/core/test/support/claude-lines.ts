// Builders for what Claude Code prints, and one call to translate it.
import {
  type ClaudeOutcome,
  createClaudeTranslator,
  parseClaudeEvent,
  type UIEvent,
  type UIEventType,
} from '../../src/index.ts'

export type Line = Record<string, unknown>

export const SESSION = 'ours'

export interface Translated {
  events: UIEvent[]
  outcome: ClaudeOutcome | null
  nativeSessionId: string | null
}

/** All lines, then the end of the output. */
export function translate(lines: readonly unknown[]): Translated {
  const translator = createClaudeTranslator({ sessionId: SESSION })
  const events = lines.flatMap(line => translator.translate(parseClaudeEvent(line)))
  events.push(...translator.end())
  return { events, outcome: translator.outcome, nativeSessionId: translator.nativeSessionId }
}

export function eventsOf(...lines: unknown[]): UIEvent[] {
  return translate(lines).events
}

export function only<T extends UIEventType>(
  events: readonly UIEvent[],
  type: T,
): Extract<UIEvent, { type: T }>[] {
  return events.filter((event): event is Extract<UIEvent, { type: T }> => event.type === type)
}

export function statuses(...lines: unknown[]) {
  return only(eventsOf(...lines), 'status')
}

export function system(subtype: string, fields: Line = {}): Line {
  return { type: 'system', subtype, ...fields }
}

export function init(fields: Line = {}): Line {
  return system('init', {
    session_id: 'native-1',
    model: 'claude-x',
    tools: ['Bash'],
    permissionMode: 'default',
    ...fields,
  })
}

export function stream(event: Line, fields: Line = {}): Line {
  return { type: 'stream_event', event, parent_tool_use_id: null, ...fields }
}

export function messageStart(id: string, usage: Line = { input_tokens: 10, output_tokens: 1 }): Line {
  return stream({ type: 'message_start', message: { id, model: 'claude-x', usage } })
}

export function blockStart(block: Line): Line {
  return stream({ type: 'content_block_start', index: 0, content_block: block })
}

export function delta(fields: Line): Line {
  return stream({ type: 'content_block_delta', index: 0, delta: fields })
}

export const textStart = () => blockStart({ type: 'text', text: '' })
export const textDelta = (text: string) => delta({ type: 'text_delta', text })
export const thinkingStart = () => blockStart({ type: 'thinking', thinking: '', signature: '' })
export const thinkingDelta = (thinking: string) => delta({ type: 'thinking_delta', thinking })
export const toolStart = (id: string, name = 'Bash') => blockStart({ type: 'tool_use', id, name, input: {} })
export const inputDelta = (partial_json: string) => delta({ type: 'input_json_delta', partial_json })
export const blockStop = () => stream({ type: 'content_block_stop', index: 0 })
export const messageDelta = (fields: Line = {}) => stream({ type: 'message_delta', ...fields })
export const messageStop = () => stream({ type: 'message_stop' })

export function assistant(id: string, content: Line | Line[] | string, fields: Line = {}): Line {
  const { model = 'claude-x', ...rest } = fields
  const blocks = typeof content === 'string' || Array.isArray(content) ? content : [content]
  return {
    type: 'assistant',
    message: { id, model, content: blocks, stop_reason: null },
    parent_tool_use_id: null,
    ...rest,
  }
}

export const text = (value: string): Line => ({ type: 'text', text: value })
export const thinking = (value: string): Line => ({ type: 'thinking', thinking: value, signature: 'c2ln' })
export const toolUse = (id: string, input: Line = {}, name = 'Bash'): Line => ({
  type: 'tool_use',
  id,
  name,
  input,
})

export function user(content: Line[] | string, fields: Line = {}): Line {
  return { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null, ...fields }
}

export function toolResult(id: string, content: unknown, fields: Line = {}): Line {
  const { is_error = false, ...rest } = fields
  return user([{ type: 'tool_result', tool_use_id: id, content, is_error }], rest)
}

export function result(fields: Line = {}): Line {
  return {
    type: 'result',
    subtype: 'success',
    is_error: false,
    result: 'done',
    session_id: 'native-1',
    total_cost_usd: 0.01,
    usage: { input_tokens: 3, output_tokens: 4 },
    permission_denials: [],
    ...fields,
  }
}

export function failure(fields: Line = {}): Line {
  return result({ is_error: true, ...fields })
}

/** The message with which the CLI repeats an API failure as text. */
export function apiErrorMessage(error: string, message: string, fields: Line = {}): Line {
  return assistant('synthetic-1', text(message), { model: '<synthetic>', error, ...fields })
}
