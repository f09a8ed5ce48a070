import { mkdir, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { fleetError } from '../fleet-error.ts'
import { endBroker } from './broker-process.ts'
import { fleetFolder, lockMember, type Member, notSetUp, readBroker, readMember } from './fleet-files.ts'

/**
 * Takes this machine out of its fleet, so that it can join another. Nothing is removed: keys, mirrored logs and copies are
 * put aside. The hub still lets its key in until it is revoked there.
 */
export async function leaveFleet({
  home,
  force = false,
}: {
  home: string
  /** Also the machine that lets the others in: nobody can join or be revoked without it. */
  force?: boolean
}): Promise<{ member: Member; folder: string; madeFleet: boolean }> {
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
    // The membership last: what is interrupted can be done again.
    const names = (await readdir(from)).filter(name => !STAYS.includes(name) && name !== MEMBER)
    for (const name of [...names, MEMBER]) await rename(join(from, name), join(folder, name))
    return { member, folder, madeFleet }
  } finally {
    await lock.release()
  }
}

const LEFT = 'left'
const MEMBER = 'member.json'
/** The lock that is held, and a fetched nats-server. */
const STAYS = [LEFT, 'bin', '.chirality']
