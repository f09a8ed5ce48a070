import type { PermissionRequestEvent, UIEvent } from '../../events/ui-event.ts'
import { parseClaudeEvent } from '../../native/claude/claude-event.ts'
import { asObject, asText, type JsonObject } from '../../native/loose.ts'
import {
  type ClaudeTranslator,
  type ClaudeTranslatorOptions,
  createClaudeTranslator,
} from '../claude/claude-translator.ts'
import type { HarnessTranslators } from '../shared.ts'
import { type AskedDecision, decisionTold, stalled } from '../told.ts'

const HARNESS_ID = 'messages-api'

/** The harness whose spools this reads. */
export const MESSAGES_API_TRANSLATORS: HarnessTranslators = { [HARNESS_ID]: createMessagesApiTranslator }

/** Accepts the raw events, also those that Claude Code does not have. */
export interface MessagesApiTranslator extends Omit<ClaudeTranslator, 'translate'> {
  translate(event: JsonObject): UIEvent[]
}

/** Translates the raw events of the Messages API loop: Claude Code's events, and a few of its own. */
export function createMessagesApiTranslator({ sessionId }: ClaudeTranslatorOptions): MessagesApiTranslator {
  const claude = createClaudeTranslator({ sessionId, harness: HARNESS_ID })
  /** The requests without an answer: an answer names an edited input only beside the requested one. */
  const open = new Map<string, PermissionRequestEvent>()
  const see = (events: UIEvent[]): UIEvent[] => {
    for (const event of events) if (event.type === 'permission:request') open.set(event.requestId, event)
    return events
  }
  /** An unreadable answer counts as a denial, and closes its request. */
  const resolved = (response: unknown): UIEvent[] => {
    const answer = asObject(response)
    const requestId = asText(answer?.request_id)
    if (!answer || !requestId) return []
    const { decision, by, rule } = answer as unknown as AskedDecision
    const asked = asObject(decision) ? { decision, by, rule } : NO_ANSWER
    const request = open.get(requestId) ?? { sessionId, requestId }
    open.delete(requestId)
    return [decisionTold(request, asked, asText(answer.note))]
  }
  const own = (event: JsonObject): UIEvent[] | undefined => {
    switch (event.type) {
      case 'request':
      case 'stream_error':
        return []
      case 'stalled':
        return [stalled(sessionId, Number(event.idle_ms))]
      case 'control_response':
        return resolved(event.response)
      default:
        return undefined
    }
  }
  const translate = (event: JsonObject): UIEvent[] => {
    const told = own(event)
    if (told) return told
    const events = see(claude.translate(parseClaudeEvent(event)))
    return event.type === 'tool_progress' ? events.map(status => withOutput(status, event.output)) : events
  }
  return {
    translate,
    translateRecord: record => {
      const event = record.kind === 'json' ? asObject(record.value) : undefined
      return event ? translate(event) : claude.translateRecord(record)
    },
    end: () => claude.end(),
    get outcome() {
      return claude.outcome
    },
    get nativeSessionId() {
      return claude.nativeSessionId
    },
  }
}

const NO_ANSWER: AskedDecision = { decision: { behavior: 'deny' }, by: 'failure' }

function withOutput(event: UIEvent, output: unknown): UIEvent {
  return event.type === 'status' ? { ...event, data: { ...event.data, output } } : event
}
