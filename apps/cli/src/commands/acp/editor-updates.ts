import path from 'node:path'
import {
  editsOf,
  type FileEdit,
  factsOf,
  type Todo,
  type ToolFacts,
  type ToolKind,
  type UIEvent,
} from '@chirality/core'
import type { JsonObject } from './editor-connection.ts'

/** A `session/update` of the Agent Client Protocol. */
export type EditorUpdate = { sessionUpdate: string } & JsonObject

interface KnownCall {
  name: string
  input: JsonObject
  facts: ToolFacts
}

/** Turns the events of one session into what an editor shows. Sees every event, in order. */
export class EditorUpdates {
  readonly #cwd: string
  /** What was sent of each text that is still written. */
  readonly #texts = new Map<string, string>()
  readonly #calls = new Map<string, KnownCall>()
  /** The call that each request is about. */
  readonly #requests = new Map<string, string>()

  /** Paths of events are relative to `cwd`, those of an editor are absolute. */
  constructor(cwd: string) {
    this.#cwd = cwd
  }

  /** `isOwn`: the editor sent the message of this turn, and shows it and its error itself. */
  of(event: UIEvent, isOwn: boolean): EditorUpdate[] {
    switch (event.type) {
      case 'turn:start':
        this.#texts.clear()
        return isOwn ? [] : [chunk('user_message_chunk', event.message)]
      case 'chat:delta':
        return this.#piece('agent_message_chunk', event)
      case 'chat:message':
        return event.discarded ? [] : this.#whole('agent_message_chunk', event)
      case 'chat:thinking':
        return event.final
          ? this.#whole('agent_thought_chunk', event)
          : this.#piece('agent_thought_chunk', event)
      case 'tool:start':
      case 'tool:input':
        return this.#call(event)
      case 'tool:result':
        return this.#result(event)
      case 'permission:request':
        if (event.toolUseId !== undefined) this.#requests.set(event.requestId, event.toolUseId)
        return []
      case 'permission:resolved':
        return this.#resolved(event)
      case 'status':
        return [
          ...(event.todos ? [plan(event.todos)] : []),
          ...(event.level === 'info' ? [] : [chunk('agent_thought_chunk', `${event.message}\n`)]),
        ]
      case 'budget':
        return event.message ? [chunk('agent_thought_chunk', `${event.message}\n`)] : []
      case 'session:error':
        return isOwn && !event.recovered ? [] : [chunk('agent_message_chunk', `${event.error}\n`)]
      default:
        return []
    }
  }

  /** The call that a permission request is about, as the request shows it. */
  asked(request: UIEvent & { type: 'permission:request' }): JsonObject {
    const facts = factsOf(request)
    const toolCallId = request.toolUseId ?? request.requestId
    return {
      ...this.#shown(toolCallId, { name: request.toolName, input: request.input, facts }),
      status: 'pending',
      ...(request.kind === 'plan' ? { kind: 'switch_mode', content: planText(request.input) } : {}),
      ...(request.kind === 'question' ? { kind: 'other' } : {}),
    }
  }

  #piece(
    sessionUpdate: string,
    event: { text: string; messageId?: string; parentToolUseId?: string },
  ): EditorUpdate[] {
    const { text, messageId, parentToolUseId } = event
    // What a sub-agent says is for the agent that started it.
    if (parentToolUseId !== undefined || text === '') return []
    if (messageId !== undefined) {
      const key = `${sessionUpdate} ${messageId}`
      this.#texts.set(key, (this.#texts.get(key) ?? '') + text)
    }
    return [chunk(sessionUpdate, text, messageId)]
  }

  /** A whole text repeats its pieces: only what was not sent yet is new. */
  #whole(
    sessionUpdate: string,
    event: { text: string; messageId: string; parentToolUseId?: string },
  ): EditorUpdate[] {
    const { text, messageId, parentToolUseId } = event
    if (parentToolUseId !== undefined) return []
    const key = `${sessionUpdate} ${messageId}`
    const sent = this.#texts.get(key) ?? ''
    this.#texts.delete(key)
    const rest = text.startsWith(sent) ? text.slice(sent.length) : `\n\n${text}`
    return rest === '' ? [] : [chunk(sessionUpdate, rest, messageId)]
  }

  #call(event: UIEvent & { type: 'tool:start' | 'tool:input' }): EditorUpdate[] {
    if (event.input === undefined) return []
    const { toolUseId, input } = event
    const known = this.#calls.get(toolUseId)
    const name = event.type === 'tool:start' ? event.name : (known?.name ?? '')
    const call = { name, input, facts: factsOf({ ...event, name, input }) }
    this.#calls.set(toolUseId, call)
    const isKnown = Object.keys(input).length > 0
    const update = {
      sessionUpdate: known ? 'tool_call_update' : 'tool_call',
      ...this.#shown(toolUseId, call),
      status: isKnown ? 'in_progress' : 'pending',
      ...(event.parentToolUseId === undefined
        ? {}
        : { _meta: { chirality: { parentToolCallId: event.parentToolUseId } } }),
    }
    return [update, ...(call.facts.todos ? [plan(call.facts.todos)] : [])]
  }

  #result(event: UIEvent & { type: 'tool:result' }): EditorUpdate[] {
    const { toolUseId, content, isError, edits, detail } = event
    // A session that was resumed in the middle of a turn: the editor knows the call.
    const call = this.#calls.get(toolUseId) ?? { name: '', input: {} }
    this.#calls.delete(toolUseId)
    const changed = editsOf({ ...call, ...(edits ? { edits } : {}), detail })
    const hasDiff = !isError && changed.length > 0
    const text = content.length > MAX_TEXT_CHARS ? `${content.slice(0, MAX_TEXT_CHARS)}\n…` : content
    return [
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: toolUseId,
        status: isError ? 'failed' : 'completed',
        ...(hasDiff ? { locations: this.#locations(changed) } : {}),
        content: hasDiff
          ? changed.flatMap(edit => this.#diffs(edit))
          : text === ''
            ? []
            : [{ type: 'content', content: { type: 'text', text } }],
      },
    ]
  }

  /** A call that was allowed elsewhere waits no more; the result of a denied one follows. */
  #resolved({ requestId, outcome }: UIEvent & { type: 'permission:resolved' }): EditorUpdate[] {
    const toolCallId = this.#requests.get(requestId)
    this.#requests.delete(requestId)
    if (toolCallId === undefined || outcome !== 'allowed') return []
    return [{ sessionUpdate: 'tool_call_update', toolCallId, status: 'in_progress' }]
  }

  #shown(toolCallId: string, { name, input, facts }: KnownCall): JsonObject {
    const edits = facts.edits ?? []
    const locations =
      edits.length > 0
        ? this.#locations(edits)
        : facts.kind === 'read' && facts.object !== ''
          ? [{ path: path.resolve(this.#cwd, facts.object) }]
          : []
    const content = edits.flatMap(edit => this.#diffs(edit))
    return {
      toolCallId,
      title: titleOf(name, facts),
      kind: KINDS[facts.kind],
      rawInput: input,
      ...(locations.length > 0 ? { locations } : {}),
      ...(content.length > 0 ? { content } : {}),
    }
  }

  #locations(edits: FileEdit[]): JsonObject[] {
    return edits.map(({ path: file, movedTo, hunks }) => {
      const line = hunks?.[0]?.newStart
      return { path: path.resolve(this.#cwd, movedTo ?? file), ...(line === undefined ? {} : { line }) }
    })
  }

  /** A place without texts is a location only: an empty diff would say that nothing changes. */
  #diffs(edit: FileEdit): JsonObject[] {
    const { change, text, swaps = [], hunks = [] } = edit
    const diff = (oldText: string | null, newText: string) => ({
      ...{ type: 'diff', path: path.resolve(this.#cwd, edit.movedTo ?? edit.path), oldText, newText },
    })
    if (text !== undefined) return [change === 'delete' ? diff(text, '') : diff(null, text)]
    if (hunks.length > 0) return hunks.map(({ lines }) => diff(linesOf(lines, '-'), linesOf(lines, '+')))
    return swaps.map(({ before, after }) => diff(before, after))
  }
}

const MAX_TEXT_CHARS = 200_000

const KINDS: Record<ToolKind, string> = {
  read: 'read',
  edit: 'edit',
  execute: 'execute',
  search: 'search',
  fetch: 'fetch',
  think: 'think',
  task: 'think',
  other: 'other',
}

function titleOf(name: string, { kind, label, object }: ToolFacts): string {
  if (object === '') return label || name
  return kind === 'execute' ? object : `${label} ${object}`
}

function linesOf(lines: string[], sign: '-' | '+'): string {
  const side = lines.filter(line => line.startsWith(' ') || line.startsWith(sign))
  return side.map(line => `${line.slice(1)}\n`).join('')
}

function chunk(sessionUpdate: string, text: string, messageId?: string): EditorUpdate {
  return { sessionUpdate, content: { type: 'text', text }, ...(messageId === undefined ? {} : { messageId }) }
}

function plan(todos: Todo[]): EditorUpdate {
  const states = { open: 'pending', active: 'in_progress', done: 'completed' } as const
  return {
    sessionUpdate: 'plan',
    entries: todos.map(({ text, state }) => ({ content: text, priority: 'medium', status: states[state] })),
  }
}

function planText({ plan: text }: JsonObject): JsonObject[] {
  return typeof text === 'string' ? [{ type: 'content', content: { type: 'text', text } }] : []
}
