import { randomUUID } from 'node:crypto'
import {
  type AdoptTurnOpts,
  HarnessBusyError,
  type HarnessCapabilities,
  type HarnessEvent,
  type HarnessId,
  type HarnessInstallStatus,
  type HarnessMeta,
  type HarnessModel,
  type HarnessQuery,
  type HarnessTurnOpts,
  type PromptPart,
  type Session,
  type SessionHarness,
  type SlashCommand,
  type TurnEvents,
  type TurnTrace,
  type UIEvent,
} from '@chirality/core'
import type { Connection, TurnPlan } from './connection.ts'
import { emitted } from './emitted.ts'
import { Turn } from './turn.ts'

/** A turn that is to be planned. */
export interface NewTurn {
  session: Session
  turnId: string
  message: string
  opts: HarnessTurnOpts
}

/** The sessions of a harness: one turn at a time for each, and what its agent keeps between turns. */
export abstract class TurnHarness<M> implements SessionHarness<M> {
  abstract readonly id: HarnessId
  readonly #turns = new Map<string, Turn>()
  /** Agents that are started ahead of their session's turn: whoever stops that turn gives the start up, too. */
  readonly #ahead = new Map<AbortController, string>()

  abstract meta(): HarnessMeta
  abstract models(): HarnessModel[]
  abstract capabilities(): HarnessCapabilities
  abstract checkInstallStatus(): Promise<HarnessInstallStatus>
  abstract discoverSlashCommands(
    cwd: string,
    signal?: AbortSignal,
    opts?: Pick<HarnessQuery, 'trustProject'>,
  ): Promise<SlashCommand[]>
  abstract query(query: HarnessQuery): AsyncGenerator<HarnessEvent<M>>

  /** Throws for what the agent cannot do. */
  protected abstract plan(turn: NewTurn): TurnPlan

  /** Of a turn that an earlier Chirality began. */
  protected abstract planAdopted(session: Session, trace: TurnTrace, opts: AdoptTurnOpts): TurnPlan

  /** Ends what is kept of a session between its turns. */
  protected async killKept(_sessionId: string): Promise<void> {}

  /** Forgets the session, too. */
  protected abstract releaseKept(sessionId: string): Promise<void>

  protected async closeKept(): Promise<void> {}

  startTurn(session: Session, message: string, opts: HarnessTurnOpts = {}): TurnEvents {
    const turnId = opts.turnId ?? randomUUID()
    const make = () =>
      new Turn({ plan: this.plan({ session, turnId, message, opts }), session, turnId, opts })
    return turnEvents(() => this.#run(session, make))
  }

  /** All that the turn printed, and what it still prints, as the events that `startTurn` gave. */
  adoptTurn(session: Session, trace: TurnTrace, opts: AdoptTurnOpts = {}): TurnEvents {
    const { turnId } = trace
    const make = () => new Turn({ plan: this.planAdopted(session, trace, opts), session, turnId, opts })
    return turnEvents(() => this.#run(session, make))
  }

  /** The turn ends when the agent has dealt with all messages. */
  async steer(sessionId: string, message: string, images: PromptPart[] = []): Promise<boolean> {
    const prompt: HarnessQuery['prompt'] =
      images.length > 0 ? [{ type: 'text', text: message }, ...images] : message
    return (await this.#turns.get(sessionId)?.steer(prompt)) ?? false
  }

  /** Like Ctrl-C. If the agent does not heed it, it is ended all the same. */
  interrupt(sessionId: string): void {
    this.#giveUpAhead(sessionId)
    this.#turns.get(sessionId)?.interrupt()
  }

  /** SIGTERM, and SIGKILL after 5 s, for the agent and all that it started; also for one that is kept without a turn. */
  async kill(sessionId: string): Promise<void> {
    await this.#end(sessionId)
    await this.killKept(sessionId)
  }

  async release(sessionId: string): Promise<void> {
    await this.#end(sessionId)
    await this.releaseKept(sessionId)
  }

  isRunning(sessionId: string): boolean {
    return this.#turns.has(sessionId)
  }

  /** Ends the turns that run, and the agents that are kept between turns. */
  async close(): Promise<void> {
    await Promise.all([...this.#turns.values()].map(turn => turn.kill()))
    await this.closeKept()
  }

  /** Of the turn that runs, once its agent is there. */
  protected connectionOf(sessionId: string): Connection | null {
    return this.#turns.get(sessionId)?.connection ?? null
  }

  /** Resolves quietly when the start is given up. */
  protected async startAhead(
    sessionId: string,
    start: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const givingUp = new AbortController()
    this.#ahead.set(givingUp, sessionId)
    try {
      await start(givingUp.signal)
    } catch (error) {
      if (!givingUp.signal.aborted) throw error
    } finally {
      this.#ahead.delete(givingUp)
    }
  }

  /** Makes the turn when its first batch is asked for. Throws then when the session has one running. */
  #run({ id }: Session, make: () => Turn): AsyncGenerator<UIEvent[], void> {
    return emitted(async emit => {
      if (this.#turns.has(id)) throw new HarnessBusyError(this.id, id)
      const turn = make()
      this.#turns.set(id, turn)
      const settle = () => {
        if (this.#turns.get(id) === turn) this.#turns.delete(id)
      }
      try {
        await turn.run(batch => {
          // Nothing runs any more: who hears this may start the next turn at once.
          if (batch.some(({ type }) => type === turn.lastEvent)) settle()
          return emit(batch)
        })
      } finally {
        settle()
      }
    })
  }

  async #end(sessionId: string): Promise<void> {
    this.#giveUpAhead(sessionId)
    await this.#turns.get(sessionId)?.kill()
  }

  #giveUpAhead(sessionId: string): void {
    for (const [givingUp, startedFor] of this.#ahead) if (startedFor === sessionId) givingUp.abort()
  }
}

/** One event at a time for whoever reads it as a generator, and in batches for whoever asks for them. */
function turnEvents(batches: () => AsyncGenerator<UIEvent[], void>): TurnEvents {
  const events = (async function* () {
    for await (const batch of batches()) yield* batch
  })()
  return Object.assign(events, { batches })
}
