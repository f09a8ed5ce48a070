import {
  type ChatMessageEvent,
  type Envelope,
  nextPending,
  type PermissionRequestEvent,
  type PermissionResolvedEvent,
  type UIEvent,
} from '@chirality/core'
import type { CoreEvent } from '../contract/endpoints.ts'

/** Converts UI events to the few of the core harness: whole texts and whole calls, no pieces. */
export class CoreEvents {
  /** Calls whose input the model is still writing. */
  readonly #unfinished = new Map<string, string>()
  /** The texts of the turn, by message: logs of earlier versions have an interrupted one twice. */
  readonly #texts = new Map<string, string>()
  /** Requests that wait for permission. */
  #pending: readonly PermissionRequestEvent[] = []

  from({ event, at }: Envelope): CoreEvent[] {
    const before = this.#pending
    this.#pending = nextPending(before, event)
    const timestamp = Math.floor(Date.parse(at) / 1000)
    switch (event.type) {
      case 'turn:start':
        this.#texts.clear()
        return [
          { type: 'user', content: event.message, timestamp },
          { type: 'status', state: 'thinking', message: 'The agent has the prompt.' },
        ]
      case 'chat:message':
        return this.#text(event, timestamp)
      case 'chat:thinking':
        return event.final && event.text !== '' ? [{ type: 'reasoning', content: event.text, timestamp }] : []
      case 'tool:start':
        return this.#toolStart(event, timestamp)
      case 'tool:input':
        return event.input === undefined ? [] : this.#toolCall(event.toolUseId, event.input, timestamp)
      case 'tool:result':
        return [
          ...this.#toolCall(event.toolUseId, {}, timestamp),
          {
            type: 'tool_result',
            id: event.toolUseId,
            result: event.content,
            isError: event.isError,
            timestamp,
          },
          { type: 'status', state: 'thinking', message: 'The agent has the result.' },
        ]
      case 'permission:request':
        return this.#request(event, timestamp)
      case 'permission:resolved':
        return this.#resolved(event, before)
      case 'session:error':
        return [
          {
            type: 'error',
            code: event.code,
            message: event.error,
            recovered: event.recovered ?? false,
            timestamp,
          },
        ]
      case 'turn:end':
        return [{ type: 'status', state: 'idle', message: `The turn ended: ${event.reason}.` }]
      default:
        return []
    }
  }

  #text({ messageId, text, discarded }: ChatMessageEvent, timestamp: number): CoreEvent[] {
    const isTold = this.#texts.get(messageId) === text
    this.#texts.set(messageId, text)
    return discarded || isTold ? [] : [{ type: 'text', content: text, timestamp }]
  }

  #request(event: PermissionRequestEvent, timestamp: number): CoreEvent[] {
    const { requestId, toolName, input } = event
    return [
      { type: 'permission_request', id: requestId, name: toolName, input, timestamp },
      { type: 'status', state: 'waiting', message: `${toolName} waits for permission.` },
    ]
  }

  #resolved(
    { requestId, outcome, message, facts }: PermissionResolvedEvent,
    before: readonly PermissionRequestEvent[],
  ): CoreEvent[] {
    const name = before.find(request => request.requestId === requestId)?.toolName
    if (name === undefined) return []
    const [other] = this.#pending
    const running = facts === undefined ? name : `${name}, edited: ${facts.object}`
    const runs = { type: 'status', state: 'running tool', message: running } as const
    if (other !== undefined)
      return [
        // Nothing else says that another input runs than the call was told with.
        ...(facts === undefined ? [] : [runs]),
        { type: 'status', state: 'waiting', message: `${other.toolName} waits for permission.` },
      ]
    if (outcome === 'allowed') return [runs]
    const why = message === undefined ? '' : `: ${message}`
    return [{ type: 'status', state: 'thinking', message: `${name} was ${outcome}${why}` }]
  }

  #toolStart(event: Extract<UIEvent, { type: 'tool:start' }>, timestamp: number): CoreEvent[] {
    this.#unfinished.set(event.toolUseId, event.name)
    return Object.keys(event.input).length === 0
      ? []
      : this.#toolCall(event.toolUseId, event.input, timestamp)
  }

  /** Emitted once for each call. */
  #toolCall(id: string, input: Record<string, unknown>, timestamp: number): CoreEvent[] {
    const name = this.#unfinished.get(id)
    if (name === undefined) return []
    this.#unfinished.delete(id)
    return [
      { type: 'tool_call', id, name, input, timestamp },
      { type: 'status', state: 'running tool', message: name },
    ]
  }
}
