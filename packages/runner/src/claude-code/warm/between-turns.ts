import {
  type ClaudeEvent,
  type ClaudeTranslator,
  type PermissionRequestEvent,
  type UIEvent,
  unreachable,
} from '@chirality/core'
import { spoolDamaged } from '../../turn/turn-events.ts'
import type { Launch } from '../config.ts'
import type { Inbox, InboxItem } from './inbox.ts'

export interface TalkBetweenTurnsOptions {
  /** A `LiveClaude`. */
  live: {
    readonly inbox: Inbox
    readonly launch: Launch
    readonly translator: ClaudeTranslator
    taken(item: InboxItem & { kind: 'record' }): void
  }
  sessionId: string
  /** The listener threw. */
  onFault(error: unknown): void
}

/** Told of what the agent says while no turn reads it. */
export type Listener = (events: UIEvent[]) => void

/**
 * Reads the inbox of a kept agent while no turn does, and tells its events at once: what a background task made it say, and what
 * that cost. It stops before a question, since only a turn has somebody to ask: that and all behind it is for the next turn. Of an
 * agent that is gone it tells everything.
 */
export class TalkBetweenTurns {
  readonly #options: TalkBetweenTurnsOptions
  #listener: Listener | undefined
  #turns = 0
  #isGone = false

  constructor(options: TalkBetweenTurnsOptions) {
    this.#options = options
  }

  /** A turn reads from now on. To be called with the listener when that turn is over; without effect once another one reads. */
  turnBegins(): (listener: Listener | undefined) => void {
    this.#listener = undefined
    this.#turns += 1
    const turn = this.#turns
    return listener => {
      if (turn !== this.#turns) return
      this.#listener = listener
      this.read()
    }
  }

  /** To be called when the inbox has something new. */
  read(): void {
    const listener = this.#listener
    if (!listener) return
    const events = [...this.#events()]
    if (events.length === 0) return
    try {
      listener(events)
    } catch (error) {
      this.#options.onFault(error)
    }
  }

  /** The agent prints nothing more, and nobody can answer it. */
  end(): void {
    this.#isGone = true
    this.read()
  }

  *#events(): Generator<UIEvent> {
    const { live } = this.#options
    for (let item = this.#next(); item !== undefined; item = this.#next())
      for (const event of this.#show(item)) {
        yield event
        if (event.type === 'permission:request' && item.kind === 'record') yield cancelled(event)
      }
    if (this.#isGone) yield* live.translator.end()
  }

  #next(): InboxItem | undefined {
    const { inbox } = this.#options.live
    const next = inbox.peek()
    return next?.kind === 'record' && this.#isQuestion(next.event) ? undefined : inbox.take()
  }

  #isQuestion(event: ClaudeEvent | null): boolean {
    if (this.#isGone || event?.type !== 'control_request') return false
    return this.#options.live.launch.guard?.requestIn(event) === undefined
  }

  #show(item: InboxItem): UIEvent[] {
    const { live, sessionId } = this.#options
    switch (item.kind) {
      case 'record': {
        live.taken(item)
        const { translator } = live
        return item.event ? translator.translate(item.event) : translator.translateRecord(item.record)
      }
      case 'told':
        return [item.event]
      case 'spool-damaged':
        return [spoolDamaged(sessionId, item.path, item.damage)]
      case 'rested':
        return []
      default:
        unreachable(item)
        return []
    }
  }
}

/** The question of an agent that is gone. */
function cancelled({ sessionId, requestId }: PermissionRequestEvent): UIEvent {
  return { type: 'permission:resolved', sessionId, requestId, outcome: 'cancelled', by: 'turn-end' }
}
