import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { PermissionRequestEvent } from '@chirality/core'
import { KeyedQueue } from '@chirality/disk'
import { z } from 'zod'
import type { Claim, Claims } from '../claim/claims.ts'
import { groupRef } from '../claim/open-groups.ts'
import { write } from '../engine/fleet-files.ts'
import { fleetError } from '../fleet-error.ts'

/** What a hub asks the machine that a piece of work was given to. Each may be asked again, and says how it stands. */
export interface WorkStep {
  /** `do` begins it if it has not begun. */
  step: 'do' | 'stop'
  id: string
  epoch: number
  /** What is to be done, for the machine's `Craft`. */
  order: unknown
}

export type WorkState =
  | { state: 'working' /** What its agent asks and nobody answered. */; pending?: PermissionRequestEvent }
  | { state: 'ended' }

/** How one kind of work is done on this machine. What it has done is on the disk: it is asked again after a kill. */
export interface Craft {
  /** Begins it unless it has begun, also in a process before. Only one call at a time for one order. */
  advance(order: unknown): Promise<WorkState>
  stop(order: unknown): Promise<WorkState>
  /** Another machine has it now: nothing of it may run on. */
  drop(order: unknown): Promise<void>
  /** Its result is stored elsewhere. */
  tidy(order: unknown): Promise<void>
}

export interface WorkDeskOptions {
  machine: string
  /** For the names of what was begun here. */
  folder: string
  /** From the leader. */
  claims: Pick<Claims, 'read' | 'isOver'>
  craft: Craft
}

const note = z.object({
  ...{ id: z.string(), epoch: z.number(), order: z.unknown() },
  of: groupRef.optional(),
})

/**
 * Does the work that hubs give to this machine, once. Before it begins, and again when the fleet was out of reach, it
 * reads from the leader whether the work is still this machine's.
 */
export class WorkDesk {
  readonly #options: WorkDeskOptions
  readonly #known = new Set<string>()
  readonly #turns = new KeyedQueue()
  #nextLook = 0

  constructor(options: WorkDeskOptions) {
    this.#options = options
  }

  answer({ step, id, epoch, order }: WorkStep): Promise<WorkState> {
    if (!WORK_ID.test(id) || !Number.isSafeInteger(epoch)) throw stale()
    return this.#turns.run(id, async () => {
      await this.#requireOwn(id, epoch, order)
      const { craft } = this.#options
      return step === 'stop' ? craft.stop(order) : craft.advance(order)
    })
  }

  /** Now and then, beside everything else. */
  lookSoon(): void {
    if (performance.now() < this.#nextLook) return
    this.#nextLook = performance.now() + LOOK_MS
    void this.look().catch(() => {})
  }

  /** Ends what was given to another machine meanwhile, and forgets what is over. Nothing is done if no leader answers. */
  async look(): Promise<void> {
    const { folder, machine, craft, claims } = this.#options
    for (const name of namesIn(folder)) {
      const known = readNote(join(folder, name))
      if (known === undefined) continue
      const { id, epoch, order, of } = known
      const claim = await claims.read(id)
      // Brokers that lost their disks know of no claim: that gives the work to nobody else.
      if (claim === undefined && (of === undefined || !(await claims.isOver(of)))) continue
      if (claim !== undefined && isOwn(claim, machine, epoch) && !claim.done) continue
      await this.#turns.run(id, async () => {
        if (claim?.done && isOwn(claim, machine, epoch)) await craft.tidy(order)
        else await craft.drop(order)
        this.#known.delete(`${id}:${epoch}`)
        rmSync(join(folder, name), { force: true })
      })
    }
  }

  async #requireOwn(id: string, epoch: number, order: unknown): Promise<void> {
    if (this.#known.has(`${id}:${epoch}`)) return
    const { machine, folder, claims } = this.#options
    const claim = await claims.read(id).catch((error: unknown) => {
      // Not a refusal: a hub that took it for one would give the work to the next machine.
      throw fleetError('machine-silent', 'No broker can be asked now whose this work is.', error)
    })
    if (claim === undefined || !isOwn(claim, machine, epoch) || claim.done) throw stale()
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // Before it begins: what a killed process began is found by it.
    await write(join(folder, `${id}.json`), JSON.stringify({ id, epoch, order, of: claim.of }))
    this.#known.add(`${id}:${epoch}`)
  }
}

/** A part of a subject and of a path. */
export const WORK_ID = /^[a-z0-9][a-z0-9-]{0,199}$/

const LOOK_MS = 10_000

function isOwn(claim: Claim, machine: string, epoch: number): boolean {
  return claim.machine === machine && claim.epoch === epoch
}

function stale() {
  return fleetError('work-stale', 'This work is not this machine’s, or no longer. Nothing was begun.')
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter(name => name.endsWith('.json'))
  } catch {
    return []
  }
}

function readNote(file: string): z.infer<typeof note> | undefined {
  try {
    return note.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}
