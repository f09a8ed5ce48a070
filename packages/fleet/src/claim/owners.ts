import type { SessionHost } from '@chirality/sessions'
import { z } from 'zod'
import type { Link } from '../engine/link.ts'
import { fleetError } from '../fleet-error.ts'
import { isMachineName, subjects } from '../subjects.ts'

/** The machine that a session was moved to or taken over by. A session without one is where it was made. */
const owner = z.object({ machine: z.string().refine(isMachineName), epoch: z.number().int().min(1) })
export type Owner = z.infer<typeof owner>

type OwnerLink = Pick<Link, 'last' | 'publish'>

/** Which machine has a session, by compare-and-set on the leader. Each change has the next epoch. */
export class Owners {
  readonly #link: OwnerLink

  constructor(link: OwnerLink) {
    this.#link = link
  }

  async read(session: string): Promise<Owner | undefined> {
    const last = await this.#link.last('owners', subjects.owner(session))
    return last === undefined ? undefined : parseOwner(last.body)
  }

  /** Rejects if another machine than `from` has it, or the broker cannot be asked: then nothing was given. */
  async give(session: string, from: string, to: string): Promise<Owner> {
    for (;;) {
      const subject = subjects.owner(session)
      const last = await this.#link.last('owners', subject)
      const stored = last && parseOwner(last.body)
      if (last !== undefined && stored === undefined)
        throw fleetError('move-failed', 'What the broker has of this session cannot be read.')
      // An answer of the broker was lost.
      if (stored?.machine === to && from !== to) return stored
      if (stored !== undefined && stored.machine !== from && stored.machine !== to)
        throw fleetError('move-failed', `The machine ${stored.machine} has this session by now.`)
      const given: Owner = { machine: to, epoch: (stored?.epoch ?? 1) + 1 }
      const body = Buffer.from(JSON.stringify(given))
      const published = await this.#link.publish(subject, body, { after: last?.seq ?? 0 })
      if (published.kind === 'stored') return given
    }
  }
}

export function parseOwner(body: Uint8Array): Owner | undefined {
  try {
    return owner.parse(JSON.parse(Buffer.from(body).toString()))
  } catch {
    return undefined
  }
}

/**
 * A machine that was away looks which of its sessions another one took over meanwhile: their agents end, and no turn of
 * them begins here. A hub then asks for what is left of them. Called after this machine answers calls: who takes a session
 * over writes first and calls then, so that one of the two notices the other.
 */
export async function refuseTaken(
  host: Pick<SessionHost, 'moves' | 'projects' | 'store'>,
  owners: Owners,
  machine: string,
): Promise<string[]> {
  const { moves, store } = host
  const refused: string[] = []
  for (const root of host.projects()) {
    for (const { id } of await store.list(root).catch(() => [])) {
      const has = await owners.read(id)
      if (has === undefined) continue
      const leaving = moves.leaving(id)
      const isRefused = leaving?.id.startsWith(EPOCH) === true
      if (has.machine === machine && isRefused) moves.keep(id, leaving.id)
      if (has.machine === machine || leaving !== undefined) continue
      await moves.refuse(id, { id: `${EPOCH}${has.epoch}`, from: machine, to: has.machine })
      refused.push(id)
    }
  }
  return refused
}

/** How the moves are called that this machine did not agree to. */
const EPOCH = 'epoch-'
