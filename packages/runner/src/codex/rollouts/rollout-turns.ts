import { fileURLToPath } from 'node:url'
import { asNumber, asObject, asObjects, asText, type JsonObject } from '../../common/json.ts'
import type { ThreadTurn } from './thread.ts'

/** The kinds of lines that make up the conversation; the others are the exchange with the model. */
export function isAboutThread({ type, payload }: JsonObject): boolean {
  if (type === 'session_meta' || type === 'turn_context') return true
  const kind = asText(asObject(payload).type) ?? ''
  return type === 'event_msg' ? EVENTS.has(kind) : type === 'response_item' && LEGACY_CALLS.has(kind)
}

/** The turns in the lines of one thread. */
export function rolloutTurns(lines: readonly JsonObject[]): ThreadTurn[] {
  // Versions before 0.100 do not mark the beginning of a turn, so each user message begins one.
  const hasStarts = lines.some(line => asObject(line.payload).type === 'task_started')
  const itemized = turnsWithItems(lines)
  const turns: ThreadTurn[] = []
  for (const line of lines) {
    const payload = asObject(line.payload)
    const atMs = Date.parse(asText(line.timestamp) ?? '')
    const kind = asText(payload.type)
    if (kind === 'task_started') {
      turns.push({ id: String(payload.turn_id), status: 'inProgress', items: [] })
      continue
    }
    if (kind === 'user_message' && !hasStarts) {
      turns.push({ id: `turn-${turns.length + 1}`, status: 'completed', items: [] })
    }
    const turn = turnOf(turns, payload)
    if (!turn) continue
    if (kind === 'item_completed') turn.items.push(rolloutItem(payload))
    else if (kind === 'task_complete') end(turn, payload.error ? 'failed' : 'completed', payload)
    else if (kind === 'turn_aborted') end(turn, 'interrupted', payload)
    else if (!itemized.has(turns.indexOf(turn))) addLegacy(turn, payload, atMs)
  }
  return turns
}

/**
 * Older turns have no items: their messages are in events, and their tool calls in the exchange with the model. A
 * thread can have both forms, if one version began it and another resumed it.
 */
function turnsWithItems(lines: readonly JsonObject[]): Set<number> {
  const found = new Set<number>()
  let turn = -1
  for (const { payload } of lines) {
    const { type } = asObject(payload)
    if (type === 'task_started') turn += 1
    if (type === 'item_completed') found.add(turn)
  }
  return found
}

const LEGACY_CALLS = new Set([
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
])
const LEGACY_EVENTS = ['user_message', 'agent_message', 'agent_reasoning']
const EVENTS = new Set([
  ...['task_started', 'item_completed', 'task_complete', 'turn_aborted'],
  ...LEGACY_EVENTS,
])

function turnOf(turns: readonly ThreadTurn[], { turn_id: id }: JsonObject): ThreadTurn | undefined {
  return (id === undefined ? undefined : turns.findLast(turn => turn.id === id)) ?? turns.at(-1)
}

function end(turn: ThreadTurn, status: string, payload: JsonObject): void {
  turn.status = status
  turn.durationMs = asNumber(payload.duration_ms)
  const { message, codex_error_info: info } = asObject(payload.error)
  if (status === 'failed') turn.error = { message, codexErrorInfo: camelCase(info) }
}

/**
 * `{ http_connection_failed: { http_status_code: 401 } }` in the app-server's form, which spells both keys and values
 * differently.
 */
function camelCase(info: unknown): unknown {
  if (typeof info === 'string') return camelName(info)
  if (typeof info !== 'object' || info === null) return info
  return Object.fromEntries(Object.entries(info).map(([name, value]) => [camelName(name), camelCase(value)]))
}

function camelName(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function addLegacy(turn: ThreadTurn, payload: JsonObject, atMs: number): void {
  const time = Number.isNaN(atMs) ? {} : { startedAtMs: atMs, completedAtMs: atMs }
  const id = `${turn.id}-${turn.items.length}`
  switch (payload.type) {
    case 'user_message': {
      const images = [payload.images, payload.local_images].flatMap(list => (Array.isArray(list) ? list : []))
      const content = [{ type: 'text', text: payload.message }, ...images.map(() => ({ type: 'image' }))]
      turn.items.push({ type: 'userMessage', id, content, ...time })
      return
    }
    case 'agent_message':
      turn.items.push({ type: 'agentMessage', id, text: payload.message, ...time })
      return
    case 'agent_reasoning':
      turn.items.push({ type: 'reasoning', id, summary: [payload.text], ...time })
      return
    case 'function_call':
    case 'custom_tool_call':
      turn.items.push({ type: 'dynamicToolCall', id: payload.call_id, ...call(payload), ...time })
      return
    case 'function_call_output':
    case 'custom_tool_call_output':
      answer(turn, payload, time)
  }
}

function call(payload: JsonObject): JsonObject {
  const given = payload.arguments ?? payload.input
  return { tool: payload.name, arguments: parsed(given), status: 'inProgress' }
}

function answer(turn: ThreadTurn, payload: JsonObject, time: JsonObject): void {
  const item = turn.items.find(({ id }) => id !== undefined && id === payload.call_id)
  if (!item) return
  const { output } = payload
  const text =
    typeof output === 'string'
      ? output
      : asObjects(output)
          .flatMap(part => asText(part.text) ?? [])
          .join('\n')
  Object.assign(item, { status: 'completed', contentItems: [{ type: 'inputText', text }] })
  if ('completedAtMs' in time) item.completedAtMs = time.completedAtMs
}

function parsed(given: unknown): unknown {
  if (typeof given !== 'string') return given
  try {
    return JSON.parse(given)
  } catch {
    return { input: given }
  }
}

/** An item of a file in the app-server's form, which names the same fields differently. */
export function rolloutItem(payload: JsonObject): JsonObject {
  const item = asObject(payload.item)
  const name = asText(item.type) ?? ''
  const base = {
    ...item,
    type: name.charAt(0).toLowerCase() + name.slice(1),
    startedAtMs: payload.started_at_ms,
    completedAtMs: payload.completed_at_ms,
  }
  switch (name) {
    case 'AgentMessage':
      return {
        ...base,
        text: asObjects(item.content)
          .flatMap(part => asText(part.text) ?? [])
          .join(''),
      }
    case 'Reasoning':
      return { ...base, summary: item.summary_text, content: item.raw_content }
    case 'CommandExecution':
      return {
        ...base,
        command: commandLine(item.command),
        cwd: plainPath(item.cwd),
        durationMs: duration(item),
      }
    case 'FileChange':
      return { ...base, changes: Object.entries(asObject(item.changes)).map(fileChange) }
    default:
      return base
  }
}

function fileChange([path, value]: [string, unknown]): JsonObject {
  const change = asObject(value)
  return {
    path,
    kind: { type: change.type, ...('move_path' in change ? { move_path: change.move_path } : {}) },
    diff: change.unified_diff ?? change.content,
  }
}

/** As it would be typed in a shell. */
function commandLine(command: unknown): unknown {
  if (!Array.isArray(command)) return command
  return command.map(word => quoted(String(word))).join(' ')
}

function quoted(word: string): string {
  if (/^[\w./:=@%+,-]+$/.test(word)) return word
  return word.includes("'") ? `"${word.replace(/["$`\\]/g, '\\$&')}"` : `'${word}'`
}

function plainPath(value: unknown): unknown {
  const text = asText(value)
  if (!text?.startsWith('file://')) return value
  try {
    return fileURLToPath(text)
  } catch {
    return value
  }
}

function duration(item: JsonObject): number | undefined {
  const { secs, nanos } = asObject(item.duration)
  const seconds = asNumber(secs)
  return seconds === undefined ? undefined : Math.floor(seconds * 1000 + (asNumber(nanos) ?? 0) / 1e6)
}
