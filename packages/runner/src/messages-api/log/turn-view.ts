import {
  createMessagesApiTranslator,
  type NdjsonRecord,
  type TurnEndReason,
  type UIEvent,
} from '@chirality/core'
import { asObject } from '../../common/json.ts'
import { lostSession, resumeFailed, type StopReason, stopped } from '../../turn/turn-events.ts'
import { MESSAGES_API } from '../config.ts'

/** Translates the raw events of one turn to UI events, for a running turn and for a raw log alike. */
export class TurnView {
  readonly #sessionId: string
  readonly #translator: ReturnType<typeof createMessagesApiTranslator>
  #isWhole = false
  #stopReason: StopReason | undefined

  constructor(sessionId: string) {
    this.#sessionId = sessionId
    this.#translator = createMessagesApiTranslator({ sessionId })
  }

  *show(record: NdjsonRecord): Generator<UIEvent> {
    const event = record.kind === 'json' ? asObject(record.value) : {}
    if (event.subtype === 'init') yield* this.#begin(event)
    if (event.type === 'result') this.#stopReason = stopReasonOf(event)
    if (this.#isWhole && event.type === 'stream_event') return
    for (const told of this.#translator.translateRecord(record)) yield this.#inOurWords(told)
  }

  end(): UIEvent[] {
    return this.#translator.end()
  }

  /** Undefined while the turn has no result. */
  get outcome(): TurnEndReason | undefined {
    const reason = this.#translator.outcome?.reason
    // A stop that arrives after the answer does not change the result.
    return reason === undefined || reason === 'completed' ? reason : (this.#stopReason ?? reason)
  }

  *#begin({
    include_partial_messages,
    lost_session_id: lostId,
  }: Record<string, unknown>): Generator<UIEvent> {
    this.#isWhole = include_partial_messages === false
    if (typeof lostId !== 'string') return
    yield lostSession(this.#sessionId, lostId, MESSAGES_API.name)
    yield resumeFailed(this.#sessionId, lostId)
  }

  /** The loop knows that it was stopped, but not the reason. */
  #inOurWords(event: UIEvent): UIEvent {
    if (event.type !== 'session:error' || event.code !== 'interrupted' || !this.#stopReason) return event
    return { ...event, ...stopped(event.sessionId, this.#stopReason) }
  }
}

function stopReasonOf({ stopped_as }: Record<string, unknown>): StopReason | undefined {
  return STOP_REASONS.find(reason => reason === stopped_as)
}

const STOP_REASONS: readonly StopReason[] = ['interrupted', 'killed', 'timeout']
