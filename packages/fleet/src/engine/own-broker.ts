import { refreshBroker } from './broker.ts'
import { type RunningBroker, startBroker } from './broker-process.ts'
import { machineCredential } from './credentials.ts'
import { type Member, publicKeyOf, readBroker, readMember } from './fleet-files.ts'
import { findNatsServer } from './nats-binary.ts'

/** Starts the broker of this machine if it has one. `letsIn` is true if machines are invited and revoked here. */
export async function startOwnBroker(
  home: string,
  onNews?: (text: string) => void,
): Promise<{ broker: RunningBroker | undefined; letsIn: boolean }> {
  const file = await readBroker(home)
  // The brokers of a cluster run by themselves.
  if (file === undefined || file.cluster !== undefined)
    return { broker: undefined, letsIn: file !== undefined }
  const { path: binary } = await findNatsServer({ home, fetch: true, onProgress: onNews })
  const broker = await startBroker(home, await refreshBroker(home), { binary, onNews })
  return { broker, letsIn: true }
}

/**
 * This machine's membership. The hub that made a cluster signs its own credential anew, because one of an older version
 * may lack rights that this version needs.
 */
export async function currentMember(home: string): Promise<Member | undefined> {
  const member = await readMember(home)
  const keys = member && (await readBroker(home))?.cluster?.keys
  if (member === undefined || keys === undefined) return member
  const { machine, role, seed } = member
  return { ...member, jwt: machineCredential(keys, publicKeyOf(seed), machine, role) }
}
