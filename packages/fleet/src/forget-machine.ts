import { fleetError } from './fleet-error.ts'
import type { Machine } from './machines.ts'

export interface Forgotten {
  machine: string
  /** Number of its sessions that this hub knew. */
  sessions: number
}

/**
 * Finds the machine and checks that it may be forgotten: a machine that can still report its sessions would reappear at
 * once.
 */
export function requireGone(machines: readonly Machine[], name: string, letsIn: boolean): Machine {
  if (!letsIn) throw refused('Machines are forgotten on the hub that made the fleet. Ask on that hub.')
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
