import path from 'node:path'
import { remoteSessions } from '@chirality/centre'
import { mirrorsFolder, storedRemoteSessions } from '@chirality/fleet'
import { userDataFolder } from '@chirality/sessions'

/** What the hub of this user last heard of other machines, from its files. It is loaded only by a machine of a fleet. */
export function storedFleet() {
  const home = userDataFolder()
  const fleet = {
    sessions: () => storedRemoteSessions(home),
    mirrorRoot: (machine: string) => path.join(mirrorsFolder(home), machine),
  }
  return { ...fleet, remoteSessions: () => remoteSessions(fleet) }
}

export type StoredFleet = ReturnType<typeof storedFleet>
