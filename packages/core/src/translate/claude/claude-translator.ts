import type { UIEvent } from '../../events/ui-event.ts'
import type { ClaudeEvent } from '../../native/claude/claude-event.ts'
import { parseClaudeEvent } from '../../native/claude/claude-event.ts'
import { asStrings, asText } from '../../native/loose.ts'
import type { NdjsonRecord } from '../../ndjson/ndjson-framer.ts'
import { translateAssistant } from './answer/assistant-events.ts'
import { closeOpenBlock } from './answer/open-block.ts'
import { flushUsage, translateStreamEvent } from './answer/stream-events.ts'
import { translateUser } from './answer/user-events.ts'
import { notice, translateAuthStatus, translateGoal, translateReset } from './notices/notices.ts'
import { translateRateLimit } from './notices/retries.ts'
import { translateSystem } from './notices/system-events.ts'
import { type ClaudeOutcome, createState, type TranslatorState } from './state.ts'
import { translateControlCancel, translateControlRequest } from './tools/control-events.ts'
import { translateToolProgress } from './tools/tasks.ts'
import { translateResult } from './turn/results.ts'
import { HARNESS_ID, unknown } from './ui.ts'

export interface ClaudeTranslatorOptions {
  /** Chirality's session id, on every UI event. */
  sessionId: string
  /** The harness that runs the agent. Default `claude-code`. */
  harness?: string
}

/** Translates the output of one process to UI events. It has state, so every process needs its own. */
export interface ClaudeTranslator {
  translate(event: ClaudeEvent): UIEvent[]
  /** The same for a record of the framer, also for a line that is not JSON or too long. */
  translateRecord(record: NdjsonRecord): UIEvent[]
  /** The output is over: closes blocks that were begun and never confirmed. */
  end(): UIEvent[]
  /** How the last result ended its turn; null if there was none. */
  readonly outcome: ClaudeOutcome | null
  /** The agent's own session id, for resuming; null until it is known. */
  readonly nativeSessionId: string | null
}

export function createClaudeTranslator(options: ClaudeTranslatorOptions): ClaudeTranslator {
  const state = createState(options.sessionId, options.harness ?? HARNESS_ID)
  return {
    translate: event => translateEvent(state, event),
    translateRecord: record =>
      record.kind === 'json'
        ? translateEvent(state, parseClaudeEvent(record.value))
        : [unreadable(state, record)],
    end: () =>
      [state.main, ...state.nested.values()].flatMap(scope => [
        ...closeOpenBlock(state, scope, 'aborted'),
        ...flushUsage(state, scope),
      ]),
    get outcome() {
      return state.outcome
    },
    get nativeSessionId() {
      return state.nativeSessionId
    },
  }
}

function translateEvent(state: TranslatorState, event: ClaudeEvent): UIEvent[] {
  switch (event.type) {
    case 'stream_event':
      return translateStreamEvent(state, event)
    case 'assistant':
      return translateAssistant(state, event)
    case 'user':
      return translateUser(state, event)
    case 'system':
      return translateSystem(state, event)
    case 'result':
      return translateResult(state, event)
    case 'control_request':
      return translateControlRequest(state, event)
    case 'control_cancel_request':
      return translateControlCancel(state, event)
    case 'tool_progress':
      return translateToolProgress(state, event)
    case 'rate_limit_event':
      return translateRateLimit(state, event)
    case 'conversation_reset':
      return translateReset(state, event)
    case 'auth_status':
      return translateAuthStatus(state, event)
    case 'active_goal':
      return translateGoal(state, event)
    case 'tool_use_summary': {
      const toolUseIds = asStrings(event.preceding_tool_use_ids)
      return notice(state, event.type, { message: asText(event.summary) ?? '', data: { toolUseIds } })
    }
    case 'prompt_suggestion': {
      const suggestion = asText(event.suggestion) ?? ''
      return notice(state, event.type, {
        message: suggestion && `Suggested next: ${suggestion}`,
        data: { suggestion },
      })
    }
    case 'command_lifecycle':
    case 'control_response':
    case 'keep_alive':
      return []
    case 'unknown':
      return [unknown(state, event.nativeType, event.raw)]
  }
}

function unreadable(state: TranslatorState, record: Exclude<NdjsonRecord, { kind: 'json' }>): UIEvent {
  const { kind, ...raw } = record
  return unknown(state, kind, raw)
}
