import type { RemoteSession } from '@chirality/centre'
import { userDataFolder } from '@chirality/sessions'
import { UsageError } from './exit-code.ts'
import { isInFleet } from './in-fleet.ts'
import { type LocalServer, runningServers } from './running-server.ts'
import type { StoredFleet } from './stored-fleet.ts'

/** Sessions of other machines, as this hub last heard of them. Nothing of a fleet is loaded without one. */
export async function sessionsOfFleet(): Promise<RemoteSession[]> {
  return (await knownFleet())?.remoteSessions() ?? []
}

/** The folder with the mirrored logs of a machine. */
export async function mirrorRoot(machine: string): Promise<string> {
  return (await import('./stored-fleet.ts')).storedFleet().mirrorRoot(machine)
}

/** Undefined on a machine that is in no fleet. */
export async function knownFleet(): Promise<StoredFleet | undefined> {
  return isInFleet() ? (await import('./stored-fleet.ts')).storedFleet() : undefined
}

/** The server of this user that reaches the machines of the fleet, if it runs. */
export async function findHub(): Promise<LocalServer | undefined> {
  for (const server of await runningServers(userDataFolder())) {
    if ((await server.calls.fleet.info.query()) !== null) return server
  }
  return undefined
}

/** For a session of another machine. */
export async function hubServer(machine: string): Promise<LocalServer> {
  const server = await findHub()
  if (server !== undefined) return server
  throw new UsageError(
    `This session is on the machine ${machine}, and no hub runs here that could reach it. Start it: chirality serve --fleet URL.`,
  )
}
