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
import { fenced } from './fenced.ts'

/** A `session/update` of the Agent Client Protocol. */
export type EditorUpdate = { sessionUpdate: string } & JsonObject

interface KnownCall {
  name: string
  input: JsonObject
  facts: ToolFacts
  /** It runs with another input than the agent wrote. */
  isEdited?: boolean
}

/** Turns the events of one session into what an editor shows. Sees every event, in order. */
export class EditorUpdates {
  readonly #cwd: string
  /** What was sent of each text of the turn: one that is told again adds nothing. */
  readonly #texts = new Map<string, string>()
  readonly #calls = new Map<string, KnownCall>()
  /** Messages of the editor to the running turn that the agent has not taken up yet. */
  readonly #sent: string[] = []
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
        if (event.data?.kind === 'user_message') return this.#added(event.data.text)
        return [
          ...(event.todos ? [plan(event.todos)] : []),
          // The end of the turn says that it was interrupted.
          ...(event.level === 'info' || event.status === 'interrupted'
            ? []
            : [chunk('agent_thought_chunk', `${event.message}\n`)]),
        ]
      case 'budget':
        return event.message ? [chunk('agent_thought_chunk', `${event.message}\n`)] : []
      case 'session:error':
        return isOwn && !event.recovered ? [] : [chunk('agent_message_chunk', `${event.error}\n`)]
      default:
        return []
    }
  }

  /** The editor sends this into the running turn, and shows it itself. */
  sent(message: string): void {
    this.#sent.push(message)
  }

  /** A message that somebody put into the running turn. What the agent itself writes in the user's name has tags. */
  #added(text: unknown): EditorUpdate[] {
    if (typeof text !== 'string' || text.startsWith('<')) return []
    const own = this.#sent.indexOf(text)
    if (own < 0) return [chunk('user_message_chunk', text)]
    this.#sent.splice(own, 1)
    return []
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
    if (text === sent) return []
    this.#texts.set(key, text)
    const rest = text.startsWith(sent) ? text.slice(sent.length) : `\n\n${text}`
    return rest === '' ? [] : [chunk(sessionUpdate, rest, messageId)]
  }

  #call(event: UIEvent & { type: 'tool:start' | 'tool:input' }): EditorUpdate[] {
    if (event.input === undefined) return []
    const { toolUseId, input } = event
    const known = this.#calls.get(toolUseId)
    // The agent's own input can come after the answer that replaced it.
    if (known?.isEdited) return []
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
    const call: Partial<KnownCall> & Pick<KnownCall, 'name' | 'input'> = this.#calls.get(toolUseId) ?? {
      ...{ name: '', input: {} },
    }
    this.#calls.delete(toolUseId)
    const changed = editsOf({ ...call, ...(edits ? { edits } : {}), detail })
    const hasDiff = !isError && changed.length > 0
    const text = content.length > MAX_TEXT_CHARS ? `${content.slice(0, MAX_TEXT_CHARS)}\n…` : content
    const isOutput = call.facts?.kind === 'execute'
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
            : [textContent(isOutput ? fenced(text, 'console') : text)],
        ...(text === '' ? {} : { rawOutput: text }),
      },
    ]
  }

  /** A call that was allowed elsewhere waits no more; the result of a denied one follows. */
  #resolved(event: UIEvent & { type: 'permission:resolved' }): EditorUpdate[] {
    const { requestId, outcome } = event
    const toolCallId = this.#requests.get(requestId)
    this.#requests.delete(requestId)
    if (toolCallId === undefined || outcome !== 'allowed') return []
    const shown = this.#edited(toolCallId, event)
    return [{ sessionUpdate: 'tool_call_update', toolCallId, ...shown, status: 'in_progress' }]
  }

  /** The call with the input that runs, if that is another than the editor was shown. */
  #edited(
    toolCallId: string,
    { updatedInput: input, facts }: UIEvent & { type: 'permission:resolved' },
  ): JsonObject {
    if (input === undefined) return {}
    const name = this.#calls.get(toolCallId)?.name ?? ''
    const call = { name, input, facts: factsOf({ name, input, ...(facts ? { facts } : {}) }), isEdited: true }
    this.#calls.set(toolCallId, call)
    const shown = this.#shown(toolCallId, call)
    return { ...shown, title: `${String(shown.title)} (edited by you)` }
  }

  #shown(toolCallId: string, { name, input, facts }: KnownCall): JsonObject {
    const edits = facts.edits ?? []
    const locations = edits.length > 0 ? this.#locations(edits) : this.#places(input, facts)
    const content = edits.flatMap(edit => this.#diffs(edit))
    if (facts.kind === 'execute' && facts.purpose) content.push(textContent(facts.purpose))
    return {
      toolCallId,
      title: this.#title(name, facts),
      kind: KINDS[facts.kind],
      rawInput: input,
      ...(locations.length > 0 ? { locations } : {}),
      ...(content.length > 0 ? { content } : {}),
    }
  }

  /** Where a call without edits works: the file it reads, the folder it searches or runs its command in. */
  #places(input: JsonObject, { kind, object }: ToolFacts): JsonObject[] {
    const at = (file: unknown, line?: unknown) =>
      typeof file === 'string' && file !== ''
        ? [{ path: path.resolve(this.#cwd, file), ...(typeof line === 'number' && line > 0 ? { line } : {}) }]
        : []
    if (kind === 'read') return at(object, input.offset)
    if (kind === 'search') return at(input.path)
    return kind === 'execute' ? at(input.cwd ?? this.#cwd) : []
  }

  /** A file of the project is named by its path in it. */
  #title(name: string, { kind, label, object }: ToolFacts): string {
    if (object === '') return label || name
    if (kind === 'execute') return object
    const inside = path.isAbsolute(object) ? path.relative(this.#cwd, object) : object
    return `${label} ${inside === '' || inside.startsWith('..') ? object : inside}`
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

function textContent(text: string): JsonObject {
  return { type: 'content', content: { type: 'text', text } }
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
  return typeof text === 'string' ? [textContent(text)] : []
}
