import { isRefusal, REFUSAL, type SessionHost } from '@chirality/sessions'
import { z } from 'zod'
import type { Link } from '../engine/link.ts'
import { fleetError } from '../fleet-error.ts'
import { isMachineName, subjects } from '../subjects.ts'

/** The machine that a session was moved to or taken over by. A session without an owner is where it was made. */
const owner = z.object({
  machine: z.string().refine(isMachineName),
  epoch: z.number().int().min(1),
  /** The move or takeover that wrote it. */
  move: z.string().optional(),
})
export type Owner = z.infer<typeof owner>

type OwnerLink = Pick<Link, 'last' | 'publish'>

/** Stores the owner of each session by compare-and-set on the leader. Each change has the next epoch. */
export class Owners {
  readonly #link: OwnerLink

  constructor(link: OwnerLink) {
    this.#link = link
  }

  async read(session: string): Promise<Owner | undefined> {
    const last = await this.#link.last('owners', subjects.owner(session))
    return last === undefined ? undefined : parseSessionOwner(last.body)
  }

  /**
   * Gives the session to a machine if the stored owner is still the one that the caller saw: when two hubs give it away
   * at once, one is refused. Also rejects if the broker cannot be asked; nothing was given then. `move` names the
   * operation, so that a retry after a lost answer finds its own entry.
   */
  async give(
    session: string,
    to: string,
    { move, seen }: { move: string; seen: Owner | undefined },
  ): Promise<Owner> {
    for (;;) {
      const subject = subjects.owner(session)
      const last = await this.#link.last('owners', subject)
      const stored = last && parseSessionOwner(last.body)
      if (last !== undefined && stored === undefined)
        throw fleetError('move-failed', 'The owner that the broker stores for this session cannot be read.')
      if (stored?.machine === to && stored.move === move) return stored
      if (stored?.machine !== seen?.machine || stored?.epoch !== seen?.epoch) throw hasIt(stored ?? seen)
      const given: Owner = { machine: to, epoch: (stored?.epoch ?? 1) + 1, move }
      const body = Buffer.from(JSON.stringify(given))
      const published = await this.#link.publish(subject, body, { after: last?.seq ?? 0 })
      if (published.kind === 'stored') return given
    }
  }
}

export function hasIt(owner: Pick<Owner, 'machine'> | undefined): Error {
  return fleetError(
    'move-failed',
    owner === undefined
      ? 'The broker does not know the owner of this session any more. Try again.'
      : `The machine ${owner.machine} has this session now.`,
  )
}

export function parseSessionOwner(body: Uint8Array): Owner | undefined {
  try {
    return owner.parse(JSON.parse(Buffer.from(body).toString()))
  } catch {
    return undefined
  }
}

type RefusingHost = Pick<SessionHost, 'moves' | 'projects' | 'store'>

/**
 * Finds the sessions of this machine that another one took over while it was disconnected: their agents end, and no
 * turn of them starts here. A hub then asks for what is left of them. Runs after this machine answers calls: a takeover
 * writes the owner first and calls afterwards, so one of the two always notices the other.
 */
export class Refusals {
  readonly #machine: string
  /** Projects whose sessions were checked since this machine connected. */
  readonly #looked = new Set<string>()
  readonly #refused = new Set<string>()

  constructor(machine: string) {
    this.#machine = machine
  }

  /** Called when the connection is lost or made. */
  forget(): void {
    this.#looked.clear()
  }

  /** Checks new projects, and whether refused sessions were given back. Resolves with the sessions it refused. */
  async look(host: RefusingHost, owners: () => Owners): Promise<string[]> {
    const refused: string[] = []
    for (const id of [...this.#refused]) {
      const leaving = host.moves.leaving(id)
      // The takeover was given up since.
      if (leaving === undefined || !isRefusal(leaving)) this.#refused.delete(id)
      else await this.#look(host, owners(), id)
    }
    for (const root of host.projects()) {
      if (this.#looked.has(root)) continue
      this.#looked.add(root)
      try {
        for (const { id } of await host.store.list(root).catch(() => []))
          if (!this.#refused.has(id) && (await this.#look(host, owners(), id))) refused.push(id)
      } catch (error) {
        this.#looked.delete(root)
        throw error
      }
    }
    return refused
  }

  /** True if this call refused the session. */
  async #look({ moves }: RefusingHost, owners: Owners, id: string): Promise<boolean> {
    const leaving = moves.leaving(id)
    const isRefused = leaving !== undefined && isRefusal(leaving)
    const has = await owners.read(id)
    if (has === undefined) return false
    if (has.machine === this.#machine) {
      if (isRefused) moves.keep(id, leaving.id)
      this.#refused.delete(id)
      return false
    }
    if (this.#refused.has(id) || (leaving !== undefined && !isRefused)) return false
    // Includes a session that was refused before, by a server that was killed before it ended the agent.
    await moves.refuse(id, { id: `${REFUSAL}${has.epoch}`, from: this.#machine, to: has.machine })
    this.#refused.add(id)
    return true
  }
}
