import {
  type ClaudeOutcome,
  type ClaudeTranslator,
  createClaudeTranslator,
  parseClaudeEvent,
  type UIEvent,
} from '@chirality/core'
import { type AskedDecision, decisionTold } from '../turn/ask.ts'
import { stalled } from '../turn/turn-events.ts'
import { HARNESS_ID } from './config.ts'
import type { MessagesApiEvent } from './native-event.ts'

/** Raw events of one turn as UI events: Claude Code's translator, and what only we say. */
export class MessagesApiTranslator {
  readonly #sessionId: string
  readonly #claude: ClaudeTranslator

  constructor(sessionId: string) {
    this.#sessionId = sessionId
    this.#claude = createClaudeTranslator({ sessionId })
  }

  get outcome(): ClaudeOutcome | null {
    return this.#claude.outcome
  }

  translate(event: MessagesApiEvent): UIEvent[] {
    switch (event.type) {
      case 'request':
      case 'stream_error':
        return []
      case 'stalled':
        return [stalled(this.#sessionId, Number(event.idle_ms))]
      case 'control_response':
        return this.#resolved(event)
      case 'tool_progress':
        return this.#native(event).map(told =>
          told.type === 'status' ? { ...told, data: { ...told.data, output: event.output } } : told,
        )
      default:
        return this.#native(event)
    }
  }

  end(): UIEvent[] {
    return this.#claude.end()
  }

  #native(event: MessagesApiEvent): UIEvent[] {
    return this.#claude.translate(parseClaudeEvent(event)).map(inOurName)
  }

  #resolved({ response }: MessagesApiEvent): UIEvent[] {
    const {
      request_id: requestId,
      note,
      ...asked
    } = response as AskedDecision & {
      request_id: string
      note?: string
    }
    return [decisionTold({ sessionId: this.#sessionId, requestId }, asked, note)]
  }
}

function inOurName(event: UIEvent): UIEvent {
  return event.type === 'session:init' || event.type === 'native:unknown'
    ? { ...event, harness: HARNESS_ID }
    : event
}
