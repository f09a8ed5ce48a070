import type { NdjsonRecord, TurnEndReason, TurnTrace, UIEvent } from '@chirality/core'
import { type AgentProcess, outputOf } from '../process/agent-process.ts'
import { recall, type TurnNote } from './adoption-record.ts'
import type { Connection, ConnectionEnd, TurnParts, TurnPlan } from './connection.ts'

export interface ToldTurnPlan extends Pick<TurnPlan, 'agent' | 'config'> {
  trace: TurnTrace
  /** Finds the raw log. Throws when it cannot be read, and has ended then what is left of the agent. */
  find(parts: TurnParts): Promise<EndedAgent>
}

/** An agent that ended with the Chirality that ran it, and what tells the turn from what it printed. */
export interface EndedAgent {
  /** Null when it was never started. */
  process: AgentProcess | null
  opening?: UIEvent[]
  /** What was told beside the raw log, in order. */
  notes?: TurnNote[]
  /** To be told of each of the notes. */
  onNote?(event: UIEvent): void
  /** Undefined for a record of another turn. */
  show(record: NdjsonRecord): { events: UIEvent[]; isLast?: boolean } | undefined
  /** The output is over: closes what was begun. */
  end(): UIEvent[]
  outcome(): TurnEndReason | null
  /** Why there is no result, in words for a person. */
  fault(): string
  /** How many processes it left. Resolves when they are ended. */
  left?: Promise<number>
  /** Ends what may still run of it. */
  stop(): Promise<unknown>
}

/** A turn of which nothing runs any more: it is told from its raw log, and ends as its last words say. */
export function toldPlan({ agent, config, trace, find }: ToldTurnPlan): TurnPlan {
  const { message: promptText, attachments = 0 } = trace
  return {
    agent,
    config,
    // There is nothing to stop but what is left of the agent, and that is stopped in any case.
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

  /** What was told of the turn, in the same order: out of the raw log, and of ours between. */
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
      ...{ events, outcome, leftBehind },
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

/** Without the last line where a crash cut it off: nobody was told of it. */
async function* wholeRecords(process: AgentProcess): AsyncGenerator<NdjsonRecord> {
  let unsure: NdjsonRecord | undefined
  for await (const output of outputOf(process)) {
    if (output.kind !== 'record') continue
    if (unsure) yield unsure
    unsure = output.record.kind === 'malformed' ? output.record : undefined
    if (!unsure) yield output.record
  }
}
