import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { fleetError } from '../fleet-error.ts'
import { endBroker } from './broker-process.ts'
import { fleetFolder, lockMember, type Member, notSetUp, readBroker, readMember } from './fleet-files.ts'

/**
 * Takes this machine out of its fleet, so that it can join another. Nothing is removed: keys, mirrored logs and copies
 * are put aside. The hub accepts its key until it is revoked there. `freed` lists the sessions that were moved or taken
 * over and can be used here again.
 */
export async function leaveFleet({
  home,
  force = false,
}: {
  home: string
  /** Allows it for the hub that made the fleet, too: without it nobody can join or be revoked. */
  force?: boolean
}): Promise<{ member: Member; folder: string; madeFleet: boolean; freed: string[] }> {
  const member = await readMember(home)
  if (member === undefined) throw notSetUp()
  const madeFleet = (await readBroker(home)) !== undefined
  if (!force && madeFleet)
    throw fleetError(
      'fleet-refused',
      'This hub made the fleet: without it no machine can join or be revoked, and its broker does not run. If the whole fleet is to end, add --force.',
    )
  const lock = await lockMember(home, member.machine)
  try {
    await endBroker(home)
    const from = fleetFolder(home)
    const folder = join(from, LEFT, new Date().toISOString().replace(/[:.]/g, '-'))
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // The membership moves last, so that an interrupted run can be repeated.
    const names = (await readdir(from)).filter(name => !STAYS.includes(name) && name !== MEMBER)
    for (const name of names) await rename(join(from, name), join(folder, name))
    const freed = await freeSessions(home, folder)
    await rename(join(from, MEMBER), join(folder, MEMBER))
    return { member, folder, madeFleet, freed }
  } finally {
    await lock.release()
  }
}

/** Frees sessions that are being moved: without the fleet nothing ends their moves. */
async function freeSessions(home: string, folder: string): Promise<string[]> {
  const leaving = join(home, LEAVING)
  const names = await readdir(leaving).catch(() => undefined)
  if (names === undefined) return []
  await rename(leaving, join(folder, LEAVING))
  return names.flatMap(name => (name.endsWith('.json') ? [name.slice(0, -'.json'.length)] : []))
}

const LEFT = 'left'
const MEMBER = 'member.json'
/** The lock that is held, a fetched nats-server, and the user's choice about copies. */
const STAYS = [LEFT, 'bin', '.chirality', 'copies.json']
/** Folder of the sessions that may start no turn here, in the user's data folder: see `LeavingSessions`. */
const LEAVING = 'leaving'
