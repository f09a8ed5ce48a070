import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { KeyedQueue } from '@chirality/disk'
import { z } from 'zod'
import type { Claim, Claims } from '../claim/claims.ts'
import { groupRef } from '../claim/open-groups.ts'
import { write } from '../engine/fleet-files.ts'
import { fleetError } from '../fleet-error.ts'
import type { WorkState, WorkStep } from '../rpc/protocol.ts'

/**
 * How one kind of work is done on this machine. Its progress is on the disk, because it is asked again after a kill.
 */
export interface Craft {
  /** Starts the work unless it has started, even in an earlier process. Only one call at a time per order. */
  advance(order: unknown): Promise<WorkState>
  stop(order: unknown): Promise<WorkState>
  /** Ends all of the work, because another machine has it now. */
  drop(order: unknown): Promise<void>
  /** Cleans up after the result was stored elsewhere. */
  tidy(order: unknown): Promise<void>
}

export interface WorkDeskOptions {
  machine: string
  /** Folder for the notes of started work. */
  folder: string
  /** Reads claims from the leader. */
  claims: Pick<Claims, 'read' | 'isOver'>
  craft: Craft
}

const note = z.object({ id: z.string(), epoch: z.number(), order: z.unknown(), of: groupRef.optional() })

/**
 * Does the work that hubs give to this machine, once. Before it starts, and again after the fleet was out of reach, the
 * claim is read from the leader.
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

  /** Runs `look` in the background, at intervals. */
  lookSoon(): void {
    if (performance.now() < this.#nextLook) return
    this.#nextLook = performance.now() + LOOK_MS
    void this.look().catch(() => {})
  }

  /**
   * Ends work that was given to another machine meanwhile, and forgets finished work. Does nothing if no leader
   * answers.
   */
  async look(): Promise<void> {
    const { folder, machine, craft, claims } = this.#options
    for (const name of namesIn(folder)) {
      const known = readNote(join(folder, name))
      if (known === undefined) continue
      const { id, epoch, order, of } = known
      const claim = await claims.read(id)
      // A missing claim counts only if its group is over: brokers that lost their disks gave the work to nobody else.
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
      // Not a refusal: a hub would give the work to the next machine.
      throw fleetError('machine-silent', 'No broker answers, so the owner of this work is not known.', error)
    })
    if (claim === undefined || !isOwn(claim, machine, epoch) || claim.done) throw stale()
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // Noted before it starts, so that a later process finds the work of a killed one.
    await write(join(folder, `${id}.json`), JSON.stringify({ id, epoch, order, of: claim.of }))
    this.#known.add(`${id}:${epoch}`)
  }
}

/** Id of a piece of work, which becomes part of a subject and a path. */
export const WORK_ID = /^[a-z0-9][a-z0-9-]{0,199}$/

const LOOK_MS = 10_000

function isOwn(claim: Claim, machine: string, epoch: number): boolean {
  return claim.machine === machine && claim.epoch === epoch
}

function stale() {
  return fleetError('work-stale', 'This work belongs to another machine, or is over. Nothing was started.')
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
