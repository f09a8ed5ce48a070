import { setTimeout as sleep } from 'node:timers/promises'
import type { TurnEndReason } from '@chirality/core'
import type { SessionLog } from '../log/session-log.ts'
import type { TurnRequest } from '../queue/turn-request.ts'
import { sessionBusy, toStartError } from '../session-errors.ts'
import type { SessionView } from '../status/session-view.ts'
import type { BetweenTurns } from '../turns/between-turns.ts'
import type { ProjectContext } from '../turns/host-context.ts'
import type { LiveTurn } from '../turns/live-turn.ts'
import type { SessionRecorder } from '../turns/record/session-recorder.ts'
import type { SessionStateFiles } from '../turns/record/session-state-files.ts'
import { settleTurn } from '../turns/settle-turn.ts'
import { startTurn } from '../turns/start-turn.ts'
import { StopSignal } from '../turns/stop-signal.ts'

export interface SessionTurnsOptions {
  project: ProjectContext
  view: SessionView
  state: SessionStateFiles
  log: SessionLog
  recorder: SessionRecorder
  betweenTurns: BetweenTurns
  waiters: Waiters
  /** A turn has ended, and all of it is stored. */
  onEnded: (reason: TurnEndReason) => Promise<void>
}

/** The turns of one session: one at a time, from the start to the work after its end. */
export class SessionTurns {
  readonly #options: SessionTurnsOptions
  #turn: LiveTurn | undefined
  #starting: StopSignal | undefined
  #after: Promise<void> = Promise.resolve()

  constructor(options: SessionTurnsOptions) {
    this.#options = options
  }

  get current(): LiveTurn | undefined {
    return this.#turn
  }

  /** The work after the end of the last turn. */
  get after(): Promise<void> {
    return this.#after
  }

  async start(message: string, request: TurnRequest, turnId: string): Promise<void> {
    const { project, view, state, log, recorder, betweenTurns } = this.#options
    if (view.phase !== 'idle') throw sessionBusy(log.sessionId)
    if (log.health.state === 'paused') throw toStartError(log.health.error)
    view.begin(turnId)
    const stop = new StopSignal(request)
    this.#starting = stop
    try {
      const parts = { project, view, state, recorder, betweenTurns }
      const { turn, stored } = await startTurn({ ...parts, stop, turnId, message, request })
      this.follow(turn)
      this.#begun(stop)
      await stored
    } catch (error) {
      stop.release()
      betweenTurns.beside(undefined)
      view.refused()
      this.#begun(stop)
      throw toStartError(error)
    }
  }

  /** Clears only this start, not one that may have followed meanwhile. */
  #begun(stop: StopSignal): void {
    if (this.#starting === stop) this.#starting = undefined
    this.#options.waiters.wake()
  }

  /** Follows a running turn; also one that an earlier host started. */
  follow(turn: LiveTurn): void {
    this.#turn = turn
    this.#after = turn.done.then(async end => {
      if (end.kind === 'ended') return this.#ended(turn, end.reason)
      if (end.kind === 'untold') this.#untold(turn)
    })
  }

  interrupt(): void {
    this.#starting?.abort()
    this.#turn?.interrupt()
  }

  async kill(): Promise<void> {
    const { view, log, waiters } = this.#options
    this.#starting?.abort()
    await this.#turn?.kill()
    // A paused log cannot record that the turn ended; the agent has exited nevertheless.
    await waiters.until(() => view.phase === 'idle' || log.health.state === 'paused')
  }

  /** Waits a moment, so that the agent can print its result with the cost, and then kills it. */
  async stop(): Promise<void> {
    const { view, log, recorder, waiters } = this.#options
    if (log.health.state === 'paused') recorder.giveUp()
    this.interrupt()
    const patience = setTimeout(() => {
      void this.#turn?.kill()
      recorder.giveUp()
    }, STOP_PATIENCE_MS)
    await waiters.until(() => view.phase === 'idle')
    clearTimeout(patience)
    await this.#after
  }

  /**
   * Leaves the agent running. A starting agent is waited for, because it has no record yet by which it could be found.
   */
  async leave(): Promise<void> {
    const patience = setTimeout(() => this.#starting?.abort(), STOP_PATIENCE_MS)
    await this.#options.waiters.until(() => this.#starting === undefined)
    clearTimeout(patience)
    this.#turn?.leave()
    // A log that cannot be written must not keep this host: the next one reads the rest from the raw log.
    this.#options.recorder.giveUp()
    await this.#after
  }

  async #ended(turn: LiveTurn, reason: TurnEndReason): Promise<void> {
    const { project, view, state, recorder, onEnded } = this.#options
    const { turnId, spent } = turn
    // What the log only keeps in memory is not stored: until the disk takes it, the turn has not settled.
    if (!(await recorder.flushed().catch(() => false))) return this.#untold(turn)
    const isStored = await settleTurn({ project, session: view.session, state, turnId, spent })
    if (!isStored) void this.#storeLater()
    this.#release()
    await onEnded(reason)
  }

  /** Until a full disk or a lack of files is over, the list would show the session as it was before its turn. */
  async #storeLater(): Promise<void> {
    const { project, view, log } = this.#options
    for (let pause = STORE_AGAIN_MS; ; pause = Math.min(pause * 2, MAX_STORE_AGAIN_MS)) {
      await sleep(pause, undefined, { ref: false })
      if (!log.isOpen) return
      const isStored = await project.store.save(view.session).then(
        () => true,
        () => false,
      )
      if (isStored) return
    }
  }

  /** Its record stays, and the next host ends the turn. */
  #untold({ turnId }: LiveTurn): void {
    this.#options.project.budget.forget(turnId)
    this.#release()
  }

  #release(): void {
    this.#turn = undefined
    this.#options.betweenTurns.beside(undefined)
    this.#options.view.settled()
  }
}

const STOP_PATIENCE_MS = 5000
const STORE_AGAIN_MS = 500
const MAX_STORE_AGAIN_MS = 30_000

/** Callers that wait for a condition. */
export class Waiters {
  readonly #checks = new Set<() => void>()

  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve()
    return new Promise(resolve => {
      const check = () => {
        if (!condition()) return
        this.#checks.delete(check)
        resolve()
      }
      this.#checks.add(check)
    })
  }

  /** The state changed: checks the conditions. */
  wake(): void {
    for (const check of [...this.#checks]) check()
  }
}
