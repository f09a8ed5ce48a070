import { setTimeout as sleep } from 'node:timers/promises'
import { isCodedError, type PermissionRequestEvent } from '@chirality/core'
import { type Claim, type ClaimStep, type ClaimStore, Claims } from '../claim/claims.ts'
import { fleetError } from '../fleet-error.ts'
import type { Machine } from '../machines.ts'
import { type Choice, choose } from '../placement/place.ts'
import type { WorkState, WorkStep } from './work-desk.ts'
import { WORK_ID } from './work-desk.ts'

export interface WorkBoardOptions {
  own: string
  machines: () => readonly Machine[]
  /** Undefined while there is no connection. */
  store: () => ClaimStore | undefined
  ask: (machine: string, step: WorkStep) => Promise<WorkState>
  /** How long a machine may be away before its work is given up. */
  goneMs?: number
  /** How often it is asked how its work stands. */
  pollMs?: number
}

/** A piece of work that is done once, by one machine of the fleet. */
export interface BoardWork {
  /** The same for the same work, also in the next process of this hub. */
  id: string
  needs: { agent: string; project: string; labels: readonly string[] }
  order: unknown
  /** Brings what it needs to the machine. Asked again, it finishes what was begun. */
  carry: (machine: string) => Promise<void>
  /** Brings what became of it back. */
  fetch: (machine: string) => Promise<void>
}

export interface WatchOptions {
  /** Stops it, or leaves it alone with the reason `leave`: another process of this hub goes on with it. */
  signal: AbortSignal
  isLeft: () => boolean
  onPlaced?: (machine: string, why: string) => void
  onWaits?: (why: string) => void
  /** Whether it is to be stopped because of what its agent asks. */
  onPending?: (request: PermissionRequestEvent | undefined) => boolean
}

export type WorkEnd =
  | { kind: 'ended'; machine: string }
  /** It is this machine's. */
  | { kind: 'here'; why: string }
  /** Its machine is gone. What that does when it returns is refused. */
  | { kind: 'lost'; machine: string; why: string }
  | { kind: 'refused'; machine: string; why: string }
  /** It goes on without this process, or was not placed yet. */
  | { kind: 'left' }

/**
 * Gives work to machines, and watches over it. The claim says which machine has it: it is written by compare-and-set
 * before the machine hears of it, and a machine that is gone is followed by the next epoch.
 */
export class WorkBoard {
  readonly #options: WorkBoardOptions
  /** What this hub gave to each machine, which is more than its last beat can say. */
  readonly #given = new Map<string, number>()

  constructor(options: WorkBoardOptions) {
    this.#options = options
  }

  get #pollMs(): number {
    return this.#options.pollMs ?? POLL_MS
  }

  /** Where it would run now. */
  choose(needs: BoardWork['needs']): Choice {
    const machines = this.#options.machines().map(one => {
      const given = this.#given.get(one.machine) ?? 0
      return { ...one, busy: Math.max(one.busy, given) }
    })
    return choose(needs, machines)
  }

  async run(work: BoardWork, watch: WatchOptions): Promise<WorkEnd> {
    if (!WORK_ID.test(work.id))
      throw fleetError('work-stale', `${JSON.stringify(work.id)} is no name of work.`)
    for (;;) {
      const placed = await this.#place(work, watch)
      if (placed === undefined) return { kind: 'left' }
      const { claim, why } = placed
      const { machine } = claim
      try {
        if (claim.done) return { kind: 'ended', machine }
        if (machine === this.#options.own) return { kind: 'here', why }
        const end = await this.#watch(work, claim, watch)
        if (end !== 'again') return end
      } finally {
        placed.takeBack()
      }
    }
  }

  /** The claim that is stored, or one for the machine that fits. Undefined if it was stopped while it waited. */
  async #place(
    { id, needs }: BoardWork,
    { signal, onPlaced, onWaits }: WatchOptions,
  ): Promise<{ claim: Claim; why: string; takeBack: () => void } | undefined> {
    let told = ''
    while (!signal.aborted) {
      try {
        const stored = await this.#claims(this.#options.own).read(id)
        if (stored !== undefined)
          return { claim: stored, why: 'it was given to it before', takeBack: this.#give(stored.machine) }
        const { machine, why } = this.choose(needs)
        if (machine !== null) {
          // Before it is stored: the next one is placed meanwhile.
          const takeBack = this.#give(machine)
          const taken = await this.#claims(machine)
            .step(id, { kind: 'take' })
            .catch(() => undefined)
          if (taken?.claim?.machine === machine) {
            onPlaced?.(machine, why)
            return { claim: taken.claim, why, takeBack }
          }
          takeBack()
          if (taken !== undefined) continue
        }
        if (why !== told) onWaits?.(why)
        told = why
      } catch (error) {
        if (isCodedError(error) && error.code === 'work-stale') throw error
        const why = 'waits: no broker of the fleet can be asked'
        if (why !== told) onWaits?.(why)
        told = why
      }
      await pause(signal, this.#pollMs)
    }
    return undefined
  }

  /** Until it is taken back, the machine has less room. */
  #give(machine: string): () => void {
    const add = (count: number) => this.#given.set(machine, (this.#given.get(machine) ?? 0) + count)
    add(1)
    return () => add(-1)
  }

  async #watch(work: BoardWork, claim: Claim, watch: WatchOptions): Promise<WorkEnd | 'again'> {
    const { machine, epoch } = claim
    const { id, order } = work
    const { signal, isLeft, onPending } = watch
    let isThere = false
    let isStopping = false
    let awaySince: number | undefined
    let silentSince: number | undefined
    for (;;) {
      if (isLeft()) return { kind: 'left' }
      try {
        if (!isThere) await work.carry(machine)
        isThere = true
        isStopping ||= signal.aborted
        const said = await this.#options.ask(machine, { step: isStopping ? 'stop' : 'do', id, epoch, order })
        awaySince = silentSince = undefined
        if (said.state === 'ended') {
          await work.fetch(machine)
          await this.#settle(id, machine, { kind: 'finish', epoch }, isLeft)
          return { kind: 'ended', machine }
        }
        isStopping ||= onPending?.(said.pending) ?? false
      } catch (error) {
        if (isCodedError(error) && error.code === 'work-stale') {
          const now = await this.#claims(machine)
            .read(id)
            .catch(() => undefined)
          // It may have lost what it knew of the work; only the leader says whether it is another's.
          if (now !== undefined && (now.epoch !== epoch || now.done)) return 'again'
        } else if (isCodedError(error) && !PASSING.has(error.code)) {
          await this.#settle(id, this.#options.own, { kind: 'take-over', epoch }, isLeft)
          return { kind: 'refused', machine, why: error.message }
        }
        silentSince ??= performance.now()
        const state = this.#options.machines().find(one => one.machine === machine)?.state
        awaySince = state === 'away' ? (awaySince ?? performance.now()) : undefined
        if (signal.aborted && performance.now() - silentSince > STOP_MS) return { kind: 'left' }
        if (awaySince !== undefined && performance.now() - awaySince >= (this.#options.goneMs ?? GONE_MS)) {
          await this.#settle(id, this.#options.own, { kind: 'take-over', epoch }, isLeft)
          return { kind: 'lost', machine, why: `${machine} is gone, with what its agent did in this turn` }
        }
      }
      await sleep(this.#pollMs)
    }
  }

  /** Until the leader has it. */
  async #settle(id: string, machine: string, step: ClaimStep, isLeft: () => boolean): Promise<void> {
    while (!isLeft()) {
      const isStored = await this.#claims(machine)
        .step(id, step)
        .then(
          () => true,
          () => false,
        )
      if (isStored) return
      await sleep(this.#pollMs)
    }
  }

  #claims(machine: string): Claims {
    const store = this.#options.store()
    if (store === undefined) throw fleetError('machine-away', 'This machine is not connected to its fleet.')
    return new Claims(store, machine)
  }
}

async function pause(signal: AbortSignal, ms: number): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}

/** Codes of a machine that cannot be asked now. */
const PASSING: ReadonlySet<string> = new Set(['machine-away', 'machine-silent'])
const POLL_MS = 500
const STOP_MS = 20_000
const GONE_MS = 120_000
