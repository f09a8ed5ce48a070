import type { SessionErrorEvent, TurnEndReason, UIEvent } from '@chirality/core'
import { crashed, isOutput, retrying, turnEnd } from '../log/turn-events.ts'

export interface TurnRunOptions {
  sessionId: string
  /** Starts the agent; called a second time if the first attempt crashed before it answered. */
  open: (attempt: number) => AsyncGenerator<UIEvent[]>
  /**
   * Receives the events in order, `turn:end` always alone. Returns a promise if it has to wait; throws or rejects if
   * the events can never be accepted.
   */
  record: (events: UIEvent[]) => Promise<void> | undefined
  /** Another attempt follows: state of the first one is discarded. */
  onRetry?: () => Promise<void>
  /** The events that the log already has, for an adopted turn. */
  known?: { message: string; started: boolean; ended: TurnEndReason | undefined }
  /** The end of a turn that the host itself stops. */
  endAs?: () => TurnEndReason | undefined
}

export type TurnRunEnd =
  | { kind: 'ended'; reason: TurnEndReason }
  /** Stopped, but the log cannot be written: the next host has to end the turn. */
  | { kind: 'untold' }
  | { kind: 'left' }

/** One turn as its log has it: exactly one beginning and one end, whatever the harness does. */
export class TurnRun {
  readonly #options: TurnRunOptions
  #batches: AsyncGenerator<UIEvent[]>
  #hold: CrashHold
  #started: boolean
  #reason: TurnEndReason | undefined
  #crashedWith: string | undefined
  #left = false
  #wake: () => void = () => {}

  constructor(options: TurnRunOptions) {
    this.#options = options
    this.#hold = new CrashHold(options.known === undefined)
    this.#started = options.known?.started ?? false
    this.#reason = options.known?.ended
    this.#batches = options.open(1)
  }

  /** Runs until `turn:start`. Rejects if the turn cannot start; nothing is recorded then. */
  async begin(): Promise<void> {
    const first = await this.#batches.next()
    if (first.done) throw new Error('The harness ended before the turn began.')
    const type = first.value[0]?.type
    if (type !== 'turn:start') {
      await this.#batches.return(undefined)
      throw new Error(`The harness began with ${type} instead of turn:start.`)
    }
    try {
      await this.#take(first.value)
    } catch (error) {
      // Without its beginning in the log, the agent would be unknown to every later host.
      await this.#batches.return(undefined)
      throw error
    }
  }

  /** Runs until the end. Never rejects. */
  async finish(): Promise<TurnRunEnd> {
    let failure: unknown
    try {
      for (;;) {
        const step = await this.#next()
        if (step === LEFT) return { kind: 'left' }
        if (!step.done) {
          // Awaiting a completed call would cost more than the rest of the loop.
          const waiting = this.#take(step.value)
          if (waiting) await waiting
        } else if (this.#crashedWith === undefined) break
        else await this.#again(this.#crashedWith)
      }
    } catch (error) {
      // Its events could not be recorded, and the next host reads them again: the agent works on.
      if (this.#left) return { kind: 'left' }
      failure = error
      await this.#batches.return(undefined).catch(() => {})
    }
    try {
      return { kind: 'ended', reason: await this.#close(failure) }
    } catch {
      return { kind: 'untold' }
    }
  }

  /** Leaves the turn, and its agent running. */
  leave(): void {
    this.#left = true
    this.#wake()
  }

  /** The turn is to stop, so it is not attempted again. */
  forbidRetry(): void {
    this.#hold.forbid()
  }

  /** Not `Promise.race`: the promise that never settles would keep every batch in memory. */
  #next(): Promise<IteratorResult<UIEvent[]> | typeof LEFT> {
    return new Promise((resolve, reject) => {
      this.#wake = () => resolve(LEFT)
      if (this.#left) resolve(LEFT)
      else this.#batches.next().then(resolve, reject)
    })
  }

  #take(batch: UIEvent[]): Promise<void> | undefined {
    const events: UIEvent[] = []
    for (const event of batch) {
      const { events: released, retryAfter } = this.#hold.push(event)
      if (retryAfter !== undefined) this.#crashedWith = retryAfter.error
      for (const told of released) if (this.#counts(told)) events.push(told)
    }
    return this.#record(events)
  }

  #counts({ type }: UIEvent): boolean {
    // A second attempt belongs to the same turn: no second `turn:start`, and no `process:exit` after a crash.
    if (this.#crashedWith !== undefined && type === 'process:exit') return false
    if (type !== 'turn:start') return true
    const isFirst = !this.#started
    this.#started = true
    return isFirst
  }

  #record(events: UIEvent[]): Promise<void> | undefined {
    if (events.length === 0) return undefined
    return events.some(isEnd) ? this.#recordEnd(events) : this.#options.record(events)
  }

  async #recordEnd(events: UIEvent[]): Promise<void> {
    const { record, endAs } = this.#options
    const at = events.findIndex(isEnd)
    const [end, ...rest] = events.slice(at)
    if (at > 0) await record(events.slice(0, at))
    if (end?.type === 'turn:end' && this.#reason === undefined) {
      const reason = end.reason === 'completed' ? end.reason : (endAs?.() ?? end.reason)
      await record([{ ...end, reason }])
      this.#reason = reason
    }
    await this.#record(rest)
  }

  async #again(error: string): Promise<void> {
    const { sessionId, record, open, onRetry } = this.#options
    await onRetry?.()
    await record([retrying(sessionId, error)])
    this.#crashedWith = undefined
    this.#hold = new CrashHold(false)
    this.#batches = open(2)
  }

  /** The one `turn:end`, if the harness emitted none. */
  async #close(failure: unknown): Promise<TurnEndReason> {
    const { sessionId, record, endAs, known } = this.#options
    await this.#record(this.#hold.release().filter(held => this.#counts(held)))
    if (this.#reason !== undefined) return this.#reason
    if (!this.#started && known) await record([{ type: 'turn:start', sessionId, message: known.message }])
    const reason = endAs?.() ?? 'crashed'
    await record([crashed(sessionId, whatHappened(failure))])
    await record([turnEnd(sessionId, reason)])
    return reason
  }
}

const LEFT = Symbol('left')

function isEnd({ type }: UIEvent): boolean {
  return type === 'turn:end'
}

function whatHappened(failure: unknown): string {
  const how =
    failure instanceof Error ? failure.message : 'The agent ended without saying how the turn ended.'
  return `${how} What it did so far is kept; send a message to go on from there.`
}

/** The events to emit now, and whether to start another attempt. */
interface Held {
  events: UIEvent[]
  /** The error that the attempt ended with. */
  retryAfter?: SessionErrorEvent
}

/**
 * Holds the end of an attempt back while another may follow: an agent that crashed before the model's first output is
 * started once more. After that output a turn is never repeated: it was paid for, and may have changed something.
 */
class CrashHold {
  #mayRetry: boolean
  #error: SessionErrorEvent | undefined
  #held: UIEvent[] = []

  constructor(mayRetry: boolean) {
    this.#mayRetry = mayRetry
  }

  /** From now on the end of the attempt is the end of the turn. */
  forbid(): void {
    this.#mayRetry = false
  }

  push(event: UIEvent): Held {
    if (isOutput(event)) this.#mayRetry = false
    if (!this.#mayRetry) return { events: [...this.release(), event] }
    if (isCrash(event)) {
      this.#error = event
      this.#held.push(event)
      return { events: [] }
    }
    if (this.#error === undefined) return { events: [event] }
    if (event.type !== 'turn:end') {
      this.#held.push(event)
      return { events: [] }
    }
    const error = this.#error
    if (!RETRIED.has(event.reason)) return { events: [...this.release(), event] }
    const events = this.release().map(held => (held === error ? { ...error, recovered: true } : held))
    this.#mayRetry = false
    return { events, retryAfter: error }
  }

  /** The events that were held back, when no more follow. */
  release(): UIEvent[] {
    const held = this.#held
    this.#held = []
    this.#error = undefined
    return held
  }
}

const RETRIED: ReadonlySet<TurnEndReason> = new Set<TurnEndReason>(['crashed'])

function isCrash(event: UIEvent): event is SessionErrorEvent {
  return (
    event.type === 'session:error' && event.code === 'process_crashed' && !event.recovered && !event.costUsd
  )
}
