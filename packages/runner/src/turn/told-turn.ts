import type { NdjsonRecord, TurnEndReason, TurnTrace, UIEvent } from '@chirality/core'
import { type AgentProcess, outputOf } from '../process/agent-process.ts'
import { recall, type TurnNote } from './adoption-record.ts'
import type { Connection, ConnectionEnd, TurnParts, TurnPlan } from './connection.ts'

export interface ToldTurnPlan extends Pick<TurnPlan, 'agent' | 'config'> {
  trace: TurnTrace
  /** Finds the raw log. If it cannot be read, ends the agent's remaining processes and throws. */
  find(parts: TurnParts): Promise<EndedAgent>
}

/** An agent that exited with the server that ran it, and the reader of its raw log. */
export interface EndedAgent {
  /** Null if it was never started. */
  process: AgentProcess | null
  opening?: UIEvent[]
  /** The events that the raw log does not hold, in order. */
  notes?: TurnNote[]
  /** Called for each note. */
  onNote?(event: UIEvent): void
  /** Undefined for a record of another turn. */
  show(record: NdjsonRecord): { events: UIEvent[]; isLast?: boolean } | undefined
  /** The output is over: returns the events that close open messages and tool calls. */
  end(): UIEvent[]
  outcome(): TurnEndReason | null
  /** Why there is no result, as text for the user. */
  fault(): string
  /** The number of processes that the agent left running. Resolves when they have ended. */
  left?: Promise<number>
  /** Ends its remaining processes. */
  stop(): Promise<unknown>
}

/** A turn without a running process: its events are read from the raw log, and its end from the last records. */
export function toldPlan({ agent, config, trace, find }: ToldTurnPlan): TurnPlan {
  const { message: promptText, attachments = 0 } = trace
  return {
    agent,
    config,
    // A stop has nothing to end but the agent's remaining processes, and those are ended in any case.
    signal: new AbortController().signal,
    hasBegun: true,
    prompt: async () => ({ promptText, attachments }),
    open: async parts => new ToldTurn(await find(parts), parts),
  }
}

class ToldTurn implements Connection {
  readonly hasBegun = true
  readonly isQuiet = true
  readonly #agent: EndedAgent
  readonly #log: TurnParts['log']
  #offset = -1

  constructor(agent: EndedAgent, { log }: TurnParts) {
    this.#agent = agent
    this.#log = log
  }

  get offset(): number {
    return this.#offset
  }

  /** The turn's events in their original order: those of the raw log, with the notes between them. */
  async *batches(): AsyncGenerator<UIEvent[], void> {
    const { process, opening = [] } = this.#agent
    yield [...opening, ...this.#recall(0)]
    if (!process) return
    for await (const record of wholeRecords(process)) {
      this.#log.record(record)
      const shown = this.#agent.show(record)
      if (!shown) continue
      this.#offset = record.offset
      yield shown.isLast ? shown.events : [...shown.events, ...this.#recall(record.offset + 1)]
      if (shown.isLast) return
    }
    yield this.#recall(Number.POSITIVE_INFINITY)
  }

  async stop(): Promise<void> {
    await this.#agent.stop()
  }

  async end(failure?: { error: unknown }): Promise<ConnectionEnd> {
    if (failure) await this.#agent.stop()
    const outcome = this.#agent.outcome()
    const events = this.#agent.end()
    const leftBehind = (await this.#agent.left) ?? 0
    this.#log.write('info', 'turn:close', { reason: outcome })
    return {
      events,
      outcome,
      leftBehind,
      isFinished: outcome !== null,
      fault: { error: this.#agent.fault(), code: 'process_crashed', reason: 'crashed' },
    }
  }

  async close(): Promise<void> {
    await this.#agent.left
    await this.#agent.process?.close()
  }

  #recall(offset: number): UIEvent[] {
    const { notes = [], onNote } = this.#agent
    const events = recall(notes, offset)
    for (const event of events) onNote?.(event)
    return events
  }
}

/** Leaves out a last line that a crash cut off: no event was emitted for it. */
async function* wholeRecords(process: AgentProcess): AsyncGenerator<NdjsonRecord> {
  let unsure: NdjsonRecord | undefined
  for await (const output of outputOf(process)) {
    if (output.kind !== 'record') continue
    if (unsure) yield unsure
    unsure = output.record.kind === 'malformed' ? output.record : undefined
    if (!unsure) yield output.record
  }
}
