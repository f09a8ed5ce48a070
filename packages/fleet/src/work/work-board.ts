import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isCodedError, type PermissionRequestEvent } from '@chirality/core'
import { type Claim, type ClaimStep, type ClaimStore, Claims } from '../claim/claims.ts'
import type { GroupRef } from '../claim/open-groups.ts'
import { fleetError } from '../fleet-error.ts'
import type { Machine } from '../machines.ts'
import { choose, type MachineChoice } from '../placement/place.ts'
import type { WorkState, WorkStep } from '../rpc/protocol.ts'
import { WORK_ID } from './work-desk.ts'

export interface WorkBoardOptions {
  own: string
  machines: () => readonly Machine[]
  /** Undefined while there is no connection. */
  store: () => ClaimStore | undefined
  ask: (machine: string, step: WorkStep) => Promise<WorkState>
  /** How long a machine may be away before its work is given up. */
  goneMs?: number
  /** Interval at which a machine is asked for the state of its work. */
  pollMs?: number
}

/** A piece of work that one machine of the fleet does once. */
export interface BoardWork {
  /** Stable id of the work, also across processes of this hub. Starts with the name of its group and a dash. */
  id: string
  /** Opens the group. Rejects with `work-stale` if it is over. */
  group: () => Promise<GroupRef>
  needs: { agent: string; project: string; labels: readonly string[] }
  order: unknown
  /** Brings the work's files to the machine. A repeated call finishes what was started. */
  carry: (machine: string) => Promise<void>
  /** Brings the result back. Rejects until it is back. */
  fetch: (machine: string) => Promise<void>
  /** True if no other machine has, or may have, a part of the work. */
  isHere: () => Promise<boolean>
}

export interface WatchOptions {
  /** Aborts the work. With the reason `leave` the work continues, and another process of this hub watches it. */
  signal: AbortSignal
  isLeft: () => boolean
  onPlaced?: (machine: string, why: string) => void
  onWaits?: (why: string) => void
  /** Returns true if the work has to stop because of the agent's request. */
  onPending?: (request: PermissionRequestEvent | undefined) => boolean
}

export type WorkEnd =
  | { kind: 'ended'; machine: string }
  /** The work is for this machine. */
  | { kind: 'here'; why: string }
  /** The machine is gone. Its result is refused when it returns. */
  | { kind: 'lost'; machine: string; why: string }
  | { kind: 'refused'; machine: string; why: string }
  /** The work continues without this process, or was not placed yet. */
  | { kind: 'left' }

/**
 * Gives work to machines and watches it. The claim says which machine has the work: it is written by compare-and-set
 * before the machine hears of it, and the claim after a machine that is gone has the next epoch.
 */
export class WorkBoard {
  readonly #options: WorkBoardOptions
  /** Work given to each machine by this hub, which its last beat may not include yet. */
  readonly #given = new Map<string, number>()

  constructor(options: WorkBoardOptions) {
    this.#options = options
  }

  get #pollMs(): number {
    return this.#options.pollMs ?? POLL_MS
  }

  /** Chooses the machine for the work now, leaving out those in `except`. */
  choose(needs: BoardWork['needs'], except: ReadonlySet<string> = new Set()): MachineChoice {
    const machines = this.#options.machines().map(one => {
      const given = this.#given.get(one.machine) ?? 0
      return { ...one, busy: Math.max(one.busy, given) }
    })
    return choose(
      needs,
      machines.filter(({ machine }) => !except.has(machine)),
    )
  }

  /** True if one of the machines would take the work when idle. */
  #couldFit(needs: BoardWork['needs'], except: ReadonlySet<string>): boolean {
    const machines = this.#options.machines().filter(({ machine }) => !except.has(machine))
    const idle = machines.map(one => ({ ...one, busy: 0 }))
    return choose(needs, idle).machine !== null
  }

  /** True if this machine has all labels that the work needs. */
  #isForThis({ labels }: BoardWork['needs']): boolean {
    const own = this.#options.machines().find(({ machine }) => machine === this.#options.own)
    return labels.every(label => own?.labels.includes(label))
  }

  async run(work: BoardWork, watch: WatchOptions): Promise<WorkEnd> {
    if (!WORK_ID.test(work.id))
      throw fleetError('work-stale', `${JSON.stringify(work.id)} is not a valid id of work.`)
    // All tasks of a loop wait on one signal: beyond ten listeners Node warns of a leak.
    setMaxListeners(0, watch.signal)
    const refusedBy = new Set<string>()
    for (;;) {
      const placed = await this.#place(work, watch)
      if (placed === undefined) return { kind: 'left' }
      const { claim, why } = placed
      const { machine } = claim
      try {
        if (claim.done) return { kind: 'ended', machine }
        if (machine === this.#options.own) {
          if (this.#isForThis(work.needs)) return { kind: 'here', why }
          // Taken back from a machine that refused it or is gone, possibly by a process that was killed since.
          const finish = { kind: 'finish', epoch: claim.epoch } as const
          const isStored = await this.#settle(work.id, machine, finish, watch.isLeft)
          return isStored ? { kind: 'ended', machine } : { kind: 'left' }
        }
        const end = await this.#watch(work, claim, { ...watch, refusedBy })
        if (end !== 'again') return end
      } finally {
        placed.takeBack()
      }
    }
  }

  /**
   * Ends the claim of work whose result is here already. Without this, a process that was killed between fetching and
   * finishing would leave the other machine's part there for ever.
   */
  async close(id: string, isLeft: () => boolean): Promise<'closed' | 'none' | 'left'> {
    const { own } = this.#options
    while (!isLeft()) {
      const stored = await this.#read(id)
      if (stored === undefined) return 'none'
      if (stored?.done) return 'closed'
      if (stored?.machine === own)
        await this.#settle(id, own, { kind: 'finish', epoch: stored.epoch }, isLeft)
      // Takes the claim over instead of finishing it for the machine, so that anything still running there is dropped.
      else if (stored !== null)
        await this.#settle(id, own, { kind: 'take-over', epoch: stored.epoch }, isLeft)
      else await sleep(this.#pollMs)
    }
    return 'left'
  }

  /** The stored claim. Null if no broker answers. */
  async #read(id: string): Promise<Claim | undefined | null> {
    try {
      return await this.#claims(this.#options.own).read(id)
    } catch {
      return null
    }
  }

  /** The stored claim, or a new one for the machine that fits. Undefined if the work was stopped while it waited. */
  async #place(
    { id, group, needs }: BoardWork,
    { signal, onPlaced, onWaits }: WatchOptions,
  ): Promise<{ claim: Claim; why: string; takeBack: () => void } | undefined> {
    let told = ''
    while (!signal.aborted) {
      try {
        const stored = await this.#claims(this.#options.own).read(id)
        if (stored !== undefined) {
          if (!stored.done) await noted(group)
          return { claim: stored, why: 'it was given to it before', takeBack: this.#give(stored.machine) }
        }
        // Opened even while the work waits: after a restore from a backup the hub then knows that the work had started.
        const of = await group()
        const { machine, why } = this.choose(needs)
        if (machine !== null) {
          // Counted before it is stored: the next piece is placed meanwhile.
          const takeBack = this.#give(machine)
          const taken = await this.#claims(machine)
            .step(id, { kind: 'take', of })
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
        const why =
          isCodedError(error) && error.code === 'work-failed'
            ? `waits: ${error.message}`
            : 'waits: no broker of the fleet can be asked'
        if (why !== told) onWaits?.(why)
        told = why
      }
      await pause(signal, this.#pollMs)
    }
    return undefined
  }

  /** Counts the work against the machine's slots until the returned function is called. */
  #give(machine: string): () => void {
    const add = (count: number) => this.#given.set(machine, (this.#given.get(machine) ?? 0) + count)
    add(1)
    return () => add(-1)
  }

  async #watch(
    work: BoardWork,
    claim: Claim,
    watch: WatchOptions & { refusedBy: Set<string> },
  ): Promise<WorkEnd | 'again'> {
    const { machine, epoch } = claim
    const { id, order } = work
    const { signal, isLeft, onPending, onWaits, refusedBy } = watch
    let isThere = false
    let isStopping = false
    let notCarried = 0
    /** From here on, the machine's result is fetched first. */
    let over: { kind: 'ended' } | { kind: 'refused'; why: string } | undefined
    let awaySince: number | undefined
    let silentSince: number | undefined
    let stoppedSince: number | undefined
    let told = ''
    for (;;) {
      if (isLeft()) return { kind: 'left' }
      try {
        if (over === undefined && !isThere) await work.carry(machine)
        isThere = true
        isStopping ||= signal.aborted
        if (over === undefined) {
          const said = await this.#options.ask(machine, {
            step: isStopping ? 'stop' : 'do',
            id,
            epoch,
            order,
          })
          awaySince = silentSince = undefined
          if (said.state === 'ended') over = { kind: 'ended' }
          else isStopping ||= onPending?.(said.pending) ?? false
        }
        if (over !== undefined) {
          await work.fetch(machine)
          if (over.kind === 'refused') {
            refusedBy.add(machine)
            return await this.#passOn(work, claim, watch, over.why)
          }
          await this.#settle(id, machine, { kind: 'finish', epoch }, isLeft)
          return { kind: 'ended', machine }
        }
        // A machine that always answers `working` must not keep a user from stopping.
        if (signal.aborted) stoppedSince ??= performance.now()
        if (stoppedSince !== undefined && performance.now() - stoppedSince > STOP_ANSWERED_MS)
          return { kind: 'left' }
      } catch (error) {
        if (over !== undefined) {
          const why = `waits: it is not back from ${machine}. ${error instanceof Error ? error.message : ''}`
          if (why !== told) onWaits?.(why)
          told = why
        } else if (isCodedError(error) && error.code === 'work-stale') {
          const now = await this.#read(id)
          // The brokers lost their data: the machine still has the work.
          if (now === undefined) await this.#takeAgain(work, machine, isLeft)
          // The machine may have lost its note of the work; only the leader's claim decides.
          if (now === undefined || (now !== null && (now.epoch !== epoch || now.done))) return 'again'
        } else if (isCodedError(error) && !PASSING.has(error.code)) {
          // A move that a killed process started may block for a moment.
          if (!isThere) notCarried += 1
          if (isThere || notCarried >= CARRY_TRIES) over = { kind: 'refused', why: error.message }
        }
        silentSince ??= performance.now()
        const state = this.#options.machines().find(one => one.machine === machine)?.state
        awaySince = state === 'away' ? (awaySince ?? performance.now()) : undefined
        if (signal.aborted && performance.now() - silentSince > STOP_MS) return { kind: 'left' }
        if (awaySince !== undefined && performance.now() - awaySince >= (this.#options.goneMs ?? GONE_MS)) {
          const why = `${machine} is gone`
          // The session never left, so nothing is lost.
          if (await work.isHere().catch(() => false)) return this.#passOn(work, claim, watch, why)
          if (!(await this.#settle(id, this.#options.own, { kind: 'take-over', epoch }, isLeft)))
            return { kind: 'left' }
          return { kind: 'lost', machine, why: `${why}, with the work of its agent in this turn` }
        }
      }
      await sleep(over === undefined ? this.#pollMs : this.#pollMs * FETCH_POLLS)
    }
  }

  /** Gives the work, which is back here, to another machine. Refused if every fitting machine has refused it. */
  async #passOn(
    { id, needs }: BoardWork,
    { machine, epoch }: Claim,
    watch: WatchOptions & { refusedBy: ReadonlySet<string> },
    why: string,
  ): Promise<WorkEnd | 'again'> {
    const { signal, isLeft, onPlaced, onWaits, refusedBy } = watch
    const isRefused = refusedBy.has(machine)
    let told = ''
    while (!isLeft() && !signal.aborted) {
      const next = this.choose(needs, refusedBy)
      if (next.machine !== null) {
        if (!(await this.#settle(id, next.machine, { kind: 'take-over', epoch }, isLeft))) break
        onPlaced?.(next.machine, `${next.why}, after ${machine}: ${why}`)
        return 'again'
      }
      if (isRefused && (refusedBy.size >= MAX_REFUSALS || !this.#couldFit(needs, refusedBy))) {
        if (!(await this.#settle(id, this.#options.own, { kind: 'take-over', epoch }, isLeft))) break
        return { kind: 'refused', machine, why }
      }
      if (next.why !== told) onWaits?.(next.why)
      told = next.why
      await pause(signal, this.#pollMs)
    }
    return { kind: 'left' }
  }

  /** Restores the claim of the machine, unless the group is over. */
  async #takeAgain({ id, group }: BoardWork, machine: string, isLeft: () => boolean): Promise<void> {
    while (!isLeft()) {
      try {
        await this.#claims(machine).step(id, { kind: 'take', of: await group() })
        return
      } catch (error) {
        if (isCodedError(error) && error.code === 'work-stale') throw error
        await sleep(this.#pollMs)
      }
    }
  }

  /** Writes the claim until the leader has it. False if the work was left before. */
  async #settle(id: string, machine: string, step: ClaimStep, isLeft: () => boolean): Promise<boolean> {
    while (!isLeft()) {
      try {
        await this.#claims(machine).step(id, step)
        return true
      } catch {
        await sleep(this.#pollMs)
      }
    }
    return false
  }

  #claims(machine: string): Claims {
    const store = this.#options.store()
    if (store === undefined) throw fleetError('machine-away', 'This machine is not connected to its fleet.')
    return new Claims(store, machine)
  }
}

/**
 * Notes the group again, which this hub may have lost. If that fails now, the group is restored from the broker later.
 */
async function noted(group: () => Promise<GroupRef>): Promise<void> {
  await group().catch((error: unknown) => {
    if (isCodedError(error) && error.code === 'work-stale') throw error
  })
}

async function pause(signal: AbortSignal, ms: number): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}

/** Codes of a machine that cannot be asked now. */
const PASSING: ReadonlySet<string> = new Set(['machine-away', 'machine-silent'])
const POLL_MS = 500
const STOP_MS = 20_000
/** Time for an interrupted agent to end by itself. */
const STOP_ANSWERED_MS = 60_000
const CARRY_TRIES = 3
const MAX_REFUSALS = 3
/** Packing a large repository is slow, so fetching is tried less often. */
const FETCH_POLLS = 10
const GONE_MS = 120_000
