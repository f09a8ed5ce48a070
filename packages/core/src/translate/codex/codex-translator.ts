import type { UIEvent, UsageInfo } from '../../events/ui-event.ts'
import type { CodexEvent } from '../../native/codex/codex-event.ts'
import { parseCodexEvent } from '../../native/codex/codex-event.ts'
import type { NdjsonRecord } from '../../ndjson/ndjson-framer.ts'
import { closeSpeech } from './speech.ts'
import type { CodexOutcome, CodexState } from './state.ts'
import { withdrawRequests } from './tools/requests.ts'
import { reportOvercome } from './turn/retries.ts'
import { unknownOfCodex } from './ui.ts'

/** Translates the output of one process to UI events. It has state, so every process needs its own. */
export interface CodexTranslator {
  translate(event: CodexEvent): UIEvent[]
  /** The same for a record of the framer, including a line that is too long or not JSON. */
  translateRecord(record: NdjsonRecord): UIEvent[]
  /** Call at the end of the output: closes unfinished items. */
  end(): UIEvent[]
  /** How the last turn ended; null before that and during a turn. */
  readonly outcome: CodexOutcome | null
  /** The thread's id, for resuming; null until it is known. */
  readonly nativeSessionId: string | null
  /** All tokens of the thread so far. */
  readonly usageTotal: UsageInfo
}

export function translatorOf(
  state: CodexState,
  translate: (event: CodexEvent) => UIEvent[],
): CodexTranslator {
  return {
    translate,
    translateRecord: record =>
      record.kind === 'json' ? translate(parseCodexEvent(record.value)) : [unreadable(state, record)],
    end: () => [...closeSpeech(state, false), ...withdrawRequests(state), ...reportOvercome(state)],
    get outcome() {
      return state.outcome
    },
    get nativeSessionId() {
      return state.threadId
    },
    get usageTotal() {
      return state.meter.total
    },
  }
}

function unreadable(state: CodexState, record: Exclude<NdjsonRecord, { kind: 'json' }>): UIEvent {
  const { kind, ...raw } = record
  return unknownOfCodex(state, kind, raw)
}
