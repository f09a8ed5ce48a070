import type { TakeBatch, TurnEndReason, UIEvent } from '@chirality/core'
import { crashed, retrying, turnEnd } from '../log/turn-events.ts'
import { Attempts, type EventStage, through, turnStages } from './stages.ts'

export interface TurnRunOptions {
  sessionId: string
  /** Runs the agent, and gives what it says to `take`. Called a second time if the first attempt crashed before it answered. */
  run: (take: TakeBatch, attempt: number) => Promise<void>
  /** The stages of this turn and of stored events: see `turnStages`. */
  asLogged?: EventStage
  stored: readonly EventStage[]
  /**
   * Receives the events in order, `turn:end` always alone. Returns a promise if it has to wait; throws or rejects if
   * the events can never be accepted.
   */
  record: (events: readonly UIEvent[]) => Promise<void> | undefined
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
  readonly #attempts: Attempts
  readonly #stages: readonly EventStage[]
  #running: Promise<void> | undefined
  #reason: TurnEndReason | undefined
  /** The harness waits with the second batch until `finish` is called. */
  readonly #finishing = new Signal()
  readonly #leaving = new Signal()
  #isTaking = false
  #left = false

  constructor(options: TurnRunOptions) {
    const { known, asLogged = events => events, stored } = options
    this.#options = options
    this.#attempts = new Attempts({ mayRetry: known === undefined, started: known?.started ?? false })
    this.#stages = turnStages(this.#attempts, asLogged, stored)
    this.#reason = known?.ended
  }

  /** Runs until `turn:start`. Rejects if the turn cannot start; nothing is recorded then. */
  async begin(): Promise<void> {
    const begun = new Signal()
    let isFirst = true
    const running = this.#start(1, batch => {
      if (!isFirst) return this.#take(batch)
      isFirst = false
      return this.#takeFirst(batch, begun)
    })
    const ended = running.then(() => {
      throw new Error('The harness ended before the turn began.')
    })
    await Promise.race([begun.raised, ended])
  }

  /** Runs until the end. Never rejects. */
  async finish(): Promise<TurnRunEnd> {
    let failure: unknown
    try {
      let running = this.#running ?? this.#start(1)
      this.#finishing.raise()
      for (;;) {
        await Promise.race([running, this.#leaving.raised])
        if (this.#left) return { kind: 'left' }
        if (this.#attempts.crashedWith === undefined) break
        await this.#again(this.#attempts.crashedWith)
        running = this.#start(2)
      }
    } catch (error) {
      if (this.#left) return { kind: 'left' }
      failure = error
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
    if (!this.#isTaking) this.#leaving.raise()
  }

  /** The turn is to stop, so it is not attempted again. */
  forbidRetry(): void {
    this.#attempts.forbidRetry()
  }

  #start(attempt: number, take: TakeBatch = batch => this.#take(batch)): Promise<void> {
    const running = this.#options.run(take, attempt)
    // `begin` and `finish` report the failure; one of a turn that was left is nobody's.
    running.catch(() => {})
    this.#running = running
    return running
  }

  async #takeFirst(batch: readonly UIEvent[], begun: Signal): Promise<void> {
    const type = batch[0]?.type
    if (type !== 'turn:start') throw new Error(`The harness began with ${type} instead of turn:start.`)
    // Without its beginning in the log the agent would be unknown to every later host: an error here stops it.
    await this.#take(batch)
    begun.raise()
    await this.#finishing.raised
  }

  /** Returns a promise only if the log has to be waited for. After `leave` the harness waits forever, and the agent works on. */
  #take(batch: readonly UIEvent[]): Promise<void> | undefined {
    if (this.#left) return never()
    const events = through(this.#stages, batch)
    if (events.length === 0) return undefined
    const waiting = events.some(isEnd) ? this.#recordEnd(events) : this.#options.record(events)
    return waiting && this.#taken(waiting)
  }

  async #taken(waiting: Promise<void>): Promise<void> {
    this.#isTaking = true
    try {
      await waiting
    } catch (error) {
      // The next host reads these events again.
      if (!this.#left) throw error
    } finally {
      this.#isTaking = false
    }
    if (!this.#left) return
    this.#leaving.raise()
    await never()
  }

  #record(events: readonly UIEvent[]): Promise<void> | undefined {
    if (events.length === 0) return undefined
    return events.some(isEnd) ? this.#recordEnd(events) : this.#options.record(events)
  }

  async #recordEnd(events: readonly UIEvent[]): Promise<void> {
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
    const { sessionId, record, onRetry } = this.#options
    await onRetry?.()
    await record([retrying(sessionId, error)])
    this.#attempts.again()
  }

  /** The one `turn:end`, if the harness emitted none. */
  async #close(failure: unknown): Promise<TurnEndReason> {
    const { sessionId, record, endAs, known } = this.#options
    this.#attempts.forbidRetry()
    await this.#record(through(this.#stages, []))
    if (this.#reason !== undefined) return this.#reason
    if (!this.#attempts.started && known)
      await record([{ type: 'turn:start', sessionId, message: known.message }])
    const reason = endAs?.() ?? 'crashed'
    await record([crashed(sessionId, whatHappened(failure))])
    await record([turnEnd(sessionId, reason)])
    return reason
  }
}

/** Something that happens once, and that others wait for. */
class Signal {
  raise: () => void = () => {}
  readonly raised = new Promise<void>(resolve => {
    this.raise = resolve
  })
}

/** A new one each time: what waits for it can be collected. */
function never(): Promise<void> {
  return new Promise(() => {})
}

function isEnd({ type }: UIEvent): boolean {
  return type === 'turn:end'
}

function whatHappened(failure: unknown): string {
  const how =
    failure instanceof Error ? failure.message : 'The agent ended without saying how the turn ended.'
  return `${how} What it did so far is kept; send a message to go on from there.`
}
