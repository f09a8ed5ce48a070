import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OneAfterTheOther } from '@chirality/disk'
import { fleetError } from '../fleet-error.ts'
import { isMachineName, machineNameOf, type Role, subjects } from '../subjects.ts'
import { hostPort, parseHost } from './address.ts'
import { reloadBroker } from './broker-process.ts'
import { certificateFingerprint, keyFingerprint, makeCertificate } from './certificate.ts'
import { tellBrokers } from './cluster.ts'
import { type ClusterKeys, invitationCredential, machineCredential, REVOKED_UNTIL } from './credentials.ts'
import {
  type BrokerFile,
  brokerFolder,
  forgetJoiningKey,
  formatJoinCode,
  isPublicKey,
  JOINING,
  joiningKey,
  type Member,
  newKey,
  notSetUp,
  parseJoinCode,
  publicKeyOf,
  readMember,
  requireBroker,
  requireName,
  requireNoMember,
  withBroker,
  write,
  writeBroker,
  writeMember,
} from './fleet-files.ts'
import { Link, type LinkAnswer } from './link.ts'
import { isRefusedKey } from './refusal.ts'

export interface InitOptions {
  home: string
  /** Default: derived from the host name. */
  machine?: string
  /** Address that the broker listens on and other machines dial. Default 127.0.0.1. */
  host?: string
  port?: number
  /** Further names of this machine for the certificate. */
  names?: readonly string[]
}

/** Makes this machine the first hub of a new fleet and writes the broker's files. Starts nothing. */
export async function initFleet(options: InitOptions): Promise<Member> {
  const { home, machine = machineNameOf(hostname()), port = 4222, names = [] } = options
  const host = parseHost(options.host ?? '127.0.0.1')
  requireName(machine)
  await requireNoMember(home)
  const hosts = [...new Set([host, '127.0.0.1', 'localhost', ...names])].filter(name => name !== '0.0.0.0')
  const { cert, key: certKey } = makeCertificate(hosts)
  const { seed, key } = newKey()
  const folder = brokerFolder(home)
  await write(join(folder, 'cert.pem'), cert)
  await write(join(folder, 'key.pem'), certKey)
  const addedAt = new Date().toISOString()
  await writeBroker(home, { host, port, machines: [{ machine, role: 'hub', key, addedAt }], invitations: [] })
  const dialled = names[0] ?? (host === '0.0.0.0' ? '127.0.0.1' : host)
  const member: Member = {
    machine,
    role: 'hub',
    url: `tls://${hostPort({ host: dialled, port })}`,
    seed,
    cert,
  }
  await writeMember(home, member)
  return member
}

/** Makes a code with which one machine can join once, within a day. */
export async function invite(home: string, role: Role): Promise<{ code: string; fingerprint: string }> {
  await requireBroker(home)
  const member = await readMember(home)
  if (member === undefined) throw notSetUp()
  const { seed, key } = newKey()
  const until = new Date(Date.now() + INVITATION_MS)
  const invited = { key, role, expiresAt: until.toISOString() }
  const keys = await withBroker(home, async broker => {
    await writeBroker(home, { ...broker, invitations: [...current(broker), invited] })
    return broker.cluster?.keys
  })
  await reloadBroker(home)
  const { url, cert } = member
  const jwt = keys && invitationCredential(keys, key, JOINING, until)
  return { code: formatJoinCode({ url, cert, seed, jwt }), fingerprint: certificateFingerprint(cert) }
}

/** Revokes the key of a machine. Its connection is cut at once. */
export async function revoke(home: string, machine: string): Promise<void> {
  const broker = await requireBroker(home)
  const found = broker.machines.find(one => one.machine === machine)
  if (found === undefined)
    throw fleetError('fleet-refused', `No machine ${JSON.stringify(machine)} has a key for this fleet.`)
  const member = await readMember(home)
  if (member === undefined || member.machine === machine)
    throw fleetError('fleet-refused', 'This machine lets the others in: it cannot be revoked.')
  const { key } = found
  await withBroker(home, async ({ cluster, ...stored }) => {
    if (cluster === undefined) return
    const revoked = { ...cluster.revoked, [key]: REVOKED_UNTIL }
    await writeBroker(home, { ...stored, cluster: { ...cluster, revoked } })
  })
  // Tells the brokers of a cluster first: while one of them still accepts the machine, the list must show its key.
  await tellRevoked(home, member)
  await withBroker(home, async ({ machines, ...stored }) =>
    writeBroker(home, { ...stored, machines: machines.filter(one => one.key !== key) }),
  )
  await reloadBroker(home)
}

/** Sends all revoked keys to the brokers of a cluster, including those revoked meanwhile. */
async function tellRevoked(home: string, member: Member): Promise<void> {
  const revoked = async () => {
    const { cluster } = await requireBroker(home)
    return { cluster, count: Object.keys(cluster?.revoked ?? {}).length }
  }
  for (let told = 0, now = await revoked(); now.count > told; now = await revoked()) {
    await tellBrokers(now, member)
    told = now.count
  }
}

/**
 * Makes this machine's own key and gives its public half to the fleet. After an interruption, the same code resumes.
 */
export async function joinFleet(options: {
  home: string
  code: string
  machine?: string
}): Promise<{ member: Member; fingerprint: string; key: string }> {
  const { home, machine = machineNameOf(hostname()) } = options
  requireName(machine)
  await requireNoMember(home)
  const { url, cert, seed: invitation, ...code } = parseJoinCode(options.code)
  const link = await Link.open({ url, cert, seed: invitation, ...code, machine: JOINING }).catch(
    (error: unknown) => {
      if (!isRefusedKey((error as Error).cause)) throw error
      throw fleetError('fleet-refused', `${SPENT} Make another with \`chirality fleet invite\` there.`, error)
    },
  )
  try {
    const invitedBy = publicKeyOf(invitation)
    const { seed, key } = await joiningKey(home, invitedBy)
    const request = Buffer.from(JSON.stringify({ machine, key, invitation: invitedBy }))
    const answer = await askToJoin(link, request)
    if (answer.kind === 'absent')
      throw fleetError(
        'fleet-refused',
        'The machine with the broker does not answer. Start `chirality serve --fleet` there.',
      )
    if (answer.kind === 'silent')
      throw fleetError(
        'fleet-refused',
        'The answer of the machine with the broker did not come. It may have let this machine in: join again with the same code.',
      )
    const said = JSON.parse(Buffer.from(answer.body).toString()) as {
      role?: Role
      jwt?: string
      refused?: string
    }
    if (said.role === undefined)
      throw fleetError('fleet-refused', said.refused ?? 'The fleet refused this machine.')
    const { role, jwt } = said
    const member: Member = { machine, role, url, seed, cert, jwt }
    await writeMember(home, member)
    await forgetJoiningKey(home)
    return { member, fingerprint: certificateFingerprint(cert), key: keyFingerprint(key) }
  } finally {
    await link.close()
  }
}

/**
 * Asks again while no answer comes: a broker that reads its keys cuts connections, and an answer can get lost. The same
 * key and code are accepted once.
 */
async function askToJoin(link: Link, request: Uint8Array): Promise<LinkAnswer> {
  for (let left = JOIN_ASKS; ; left -= 1) {
    const answer = await link.request(subjects.join, request, JOIN_MS)
    if (answer.kind === 'answer' || left === 1) return answer
    if (answer.kind === 'absent') await sleep(ABSENT_MS)
  }
}

/**
 * Answers machines that want to join while the link is open. After each connect the brokers of a cluster also receive
 * the revoked keys: a broker that lost its disk would accept them again.
 */
export function letIn(home: string, link: Link, onJoin: (machine: string, key: string) => void): () => void {
  let isOpen = true
  const tell = async () => {
    while (isOpen && link.connected) {
      try {
        const member = await readMember(home)
        return member && (await tellRevoked(home, member))
      } catch {
        await sleep(TELL_AGAIN_MS, undefined, { ref: false })
      }
    }
  }
  const forget = link.onConnected(connected => void (connected && tell()))
  void tell()
  const stopAnswers = answerJoins(home, link, onJoin)
  return () => {
    isOpen = false
    forget()
    stopAnswers()
  }
}

/** Answers machines that want to join while the link is open. */
export function answerJoins(
  home: string,
  link: Link,
  onJoin: (machine: string, key: string) => void,
): () => void {
  const answers = new OneAfterTheOther()
  return link.serve(subjects.join, async body => {
    const said = await answers.run(() => admit(home, body, onJoin))
    return Buffer.from(JSON.stringify(said))
  })
}

type Judged = { refused: string } | { role: Role; keys: ClusterKeys | undefined; isNew: boolean }

async function admit(
  home: string,
  body: Uint8Array,
  onJoin: (machine: string, key: string) => void,
): Promise<{ role: Role; jwt?: string } | { refused: string }> {
  try {
    const asked = JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>
    const { machine, key, invitation } = asked
    if (typeof machine !== 'string' || !isMachineName(machine))
      return { refused: 'The name of the machine is not valid.' }
    if (typeof key !== 'string' || !isPublicKey(key))
      return { refused: 'The key of the machine is not valid.' }
    const answer = await withBroker<Judged>(home, async broker => {
      const keys = broker.cluster?.keys
      const invited = current(broker).find(one => one.key === invitation)
      const isAgain = invited?.usedBy === key
      const known = isAgain ? broker.machines.find(one => one.key === key) : undefined
      // A used code whose machine is missing belongs to a revoked machine.
      if (invited === undefined || (invited.usedBy !== undefined && known === undefined))
        return { refused: `${SPENT} Make another with \`chirality fleet invite\` there.` }
      if (known !== undefined && known.machine !== machine)
        return {
          refused: `This code let this machine in as ${known.machine}. Join with --name ${known.machine}.`,
        }
      // The answer of the first attempt was lost.
      if (known !== undefined) return { role: known.role, keys, isNew: false }
      if (broker.machines.some(one => one.machine === machine))
        return {
          refused: `There is a machine ${machine} already. If it is this one and left the fleet, run \`chirality fleet revoke ${machine}\` on the hub that made the fleet, then join with the same name: under another its sessions are not reached, and can be taken over while it works. If it is not this one, give another name with --name.`,
        }
      const { role } = invited
      const expiresAt = earlier(invited.expiresAt, new Date(Date.now() + AGAIN_MS).toISOString())
      const invitations = [
        ...current(broker).filter(one => one.key !== invitation),
        { ...invited, expiresAt, usedBy: key },
      ]
      const machines = [...broker.machines, { machine, role, key, addedAt: new Date().toISOString() }]
      await writeBroker(home, { ...broker, machines, invitations })
      return { role, keys, isNew: true }
    })
    if ('refused' in answer) return answer
    const { role, keys, isNew } = answer
    if (isNew) onJoin(machine, keyFingerprint(key))
    if (keys !== undefined) return { role, jwt: machineCredential(keys, key, machine, role) }
    // The answer goes out before the reload, which can cut connections. A repeated request reloads too: the first
    // reload may have failed.
    setTimeout(() => void reloadBroker(home).catch(() => {}), ANSWER_MS)
    return { role }
  } catch {
    return { refused: 'The machine with the broker could not store the key.' }
  }
}

/** Drops expired invitations and writes the broker's configuration anew. */
export async function refreshBroker(home: string): Promise<BrokerFile> {
  return withBroker(home, async stored => {
    await writeBroker(home, { ...stored, invitations: current(stored) })
    return stored
  })
}

function earlier(one: string, other: string): string {
  return one < other ? one : other
}

function current(broker: BrokerFile): BrokerFile['invitations'] {
  const now = new Date().toISOString()
  return broker.invitations.filter(({ expiresAt }) => expiresAt > now)
}

const SPENT = 'This code was used, or is older than a day.'
const INVITATION_MS = 86_400_000
/** How long a used code still answers its own machine. */
const AGAIN_MS = 3_600_000
const JOIN_MS = 5_000
const JOIN_ASKS = 4
/** A hub whose connection was cut is connected again after this time. */
const ABSENT_MS = 700
const ANSWER_MS = 200
const TELL_AGAIN_MS = 1_000
