import { UsageError } from '../../exit-code.ts'
import { findHub } from '../../fleet-sessions.ts'
import { DEFAULT_HARNESS } from '../../harnesses.ts'
import { isInFleet } from '../../in-fleet.ts'
import type { SessionChoice } from './session-choice.ts'

/** Where there is room. */
const ANY = 'any'

/** The new session on a machine of the fleet, in its clone of the project. On this one it is as without `--where`. */
export async function placed(where: string, session: SessionChoice): Promise<SessionChoice> {
  if (session.stored !== undefined || session.nativeSessionId !== null)
    throw new UsageError('--where is for a new session. Leave it out: --session runs where the session is.')
  if (!isInFleet()) throw new UsageError('--where names a machine of a fleet, and this one is in none.')
  const server = await findHub()
  if (server === undefined)
    throw new UsageError('--where needs a hub, and none runs here. Start it: chirality serve --fleet URL.')
  const placement = await server.calls.fleet.place.query({
    harness: session.harness ?? DEFAULT_HARNESS,
    project: session.projectRoot,
  })
  const { offers, why, machine } = placement ?? { offers: [], why: 'there is no fleet', machine: null }
  const offer = offers.find(one => one.machine === (where === ANY ? machine : where))
  if (offer === undefined)
    throw new UsageError(
      where === ANY
        ? `No machine has room now: ${reason(why)}.`
        : `No machine of the fleet is called ${where}.`,
    )
  if (offer.problem !== null || offer.project === null)
    throw new UsageError(`${offer.machine} does not fit: ${reason(offer.problem ?? why)}.`)
  return offer.isThis ? session : { ...session, machine: offer.machine, projectRoot: offer.project }
}

function reason(why: string): string {
  return why.replace(/^waits: /, '')
}
