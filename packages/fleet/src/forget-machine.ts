import { fleetError } from './fleet-error.ts'
import type { Machine } from './machines.ts'

export interface Forgotten {
  machine: string
  /** How many of its sessions were known to this hub. */
  sessions: number
}

/** The machine, if it may be forgotten: one that can still tell of its sessions would be known again at once. */
export function requireGone(machines: readonly Machine[], name: string, letsIn: boolean): Machine {
  if (!letsIn) throw refused('Machines are forgotten on the hub that made the fleet: ask there.')
  const found = machines.find(({ machine }) => machine === name)
  if (found === undefined) throw refused(`No machine of the fleet is called ${name}.`)
  if (found.isThis) throw refused('This machine lets the others in: it cannot be forgotten.')
  if (found.hasKey && found.state !== 'away')
    throw refused(
      `The machine ${name} ${found.state === 'here' ? 'is there' : 'may be there'}. Move its sessions, then take its rights away: chirality fleet revoke ${name}`,
    )
  return found
}

function refused(message: string): Error {
  return fleetError('fleet-refused', message)
}
