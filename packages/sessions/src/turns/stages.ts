import type { SessionErrorEvent, TurnEndReason, UIEvent } from '@chirality/core'
import { withHostFacts } from '../decisions/policy/always-rule.ts'
import type { CallFolders } from '../decisions/policy/tool-call.ts'
import { isOutput } from '../log/turn-events.ts'

/** One step of a batch of events on its way to the log. A stage may hold events back, drop them and add others. */
export type EventStage = (events: readonly UIEvent[]) => readonly UIEvent[]

/**
 * Everything that changes the events of a turn between its harness and the log, in this order. The log itself only joins
 * the pieces of one text.
 */
export function turnStages(
  attempts: Attempts,
  asLogged: EventStage,
  stored: readonly EventStage[],
): EventStage[] {
  return [events => attempts.take(events), asLogged, ...stored]
}

/** The stages that events outside of a turn pass, too: list prices where the agent states none, and facts of the host. */
export function storedStages(priced: EventStage, folders: CallFolders): EventStage[] {
  return [priced, events => events.map(event => withHostFacts(event, folders))]
}

export function through(stages: readonly EventStage[], events: readonly UIEvent[]): readonly UIEvent[] {
  return stages.reduce((passed, stage) => stage(passed), events)
}

/**
 * The events of a turn's attempts as those of one turn. The end of an attempt is held back while another may follow: an
 * agent that crashed before the model's first output is started once more. After that output a turn is never repeated: it
 * was paid for, and may have changed something.
 */
export class Attempts {
  #mayRetry: boolean
  #started: boolean
  #held: UIEvent[] = []
  #error: SessionErrorEvent | undefined
  #crashedWith: string | undefined

  constructor({ mayRetry, started }: { mayRetry: boolean; started: boolean }) {
    this.#mayRetry = mayRetry
    this.#started = started
  }

  /** Whether `turn:start` was told. */
  get started(): boolean {
    return this.#started
  }

  /** The error of an attempt after which another one is to be made. */
  get crashedWith(): string | undefined {
    return this.#crashedWith
  }

  /** From now on the end of the attempt is the end of the turn. */
  forbidRetry(): void {
    this.#mayRetry = false
  }

  /** The second attempt begins, which is the last one. */
  again(): void {
    this.#crashedWith = undefined
    this.#mayRetry = false
  }

  /** The events to tell now. Without a retry also the ones that were held back. */
  take(events: readonly UIEvent[]): readonly UIEvent[] {
    if (!this.#mayRetry && this.#held.length === 0 && !events.some(isEdge)) return events
    const told: UIEvent[] = []
    const tell = (event: UIEvent) => {
      if (this.#counts(event)) told.push(event)
    }
    if (!this.#mayRetry) this.#release().forEach(tell)
    for (const event of events) this.#released(event).forEach(tell)
    return told
  }

  #released(event: UIEvent): UIEvent[] {
    if (isOutput(event)) this.#mayRetry = false
    if (!this.#mayRetry) return [...this.#release(), event]
    if (isCrash(event)) this.#error = event
    const error = this.#error
    if (error === undefined) return [event]
    if (event.type !== 'turn:end') {
      this.#held.push(event)
      return []
    }
    if (event.reason !== RETRIED) return [...this.#release(), event]
    this.#mayRetry = false
    this.#crashedWith = error.error
    return this.#release().map(held => (held === error ? { ...error, recovered: true } : held))
  }

  #release(): UIEvent[] {
    const held = this.#held
    this.#held = []
    this.#error = undefined
    return held
  }

  #counts({ type }: UIEvent): boolean {
    // A second attempt belongs to the same turn: no second `turn:start`, and no `process:exit` after a crash.
    if (this.#crashedWith !== undefined && type === 'process:exit') return false
    if (type !== 'turn:start') return true
    const isFirst = !this.#started
    this.#started = true
    return isFirst
  }
}

/** Whether another attempt can have such an event, too. */
function isEdge({ type }: UIEvent): boolean {
  return type === 'turn:start' || type === 'process:exit'
}

const RETRIED: TurnEndReason = 'crashed'

function isCrash(event: UIEvent): event is SessionErrorEvent {
  return (
    event.type === 'session:error' && event.code === 'process_crashed' && !event.recovered && !event.costUsd
  )
}
