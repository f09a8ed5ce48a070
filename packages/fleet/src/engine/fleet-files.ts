import { readFileSync } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeFileAtomic } from '@chirality/disk'
import { lockProject, type ProjectLock, ProjectLockedError } from '@chirality/sessions'
import { nkeys } from '@nats-io/transport-node'
import { z } from 'zod'
import { fleetError } from '../fleet-error.ts'
import { inboxOf, isMachineName, type Role, rightsOf, subjects } from '../subjects.ts'
import { hostPort, shortened } from './address.ts'

const machineName = z.string().refine(isMachineName)
const role = z.enum(['worker', 'hub'])

/** Identity of this machine in its fleet: `fleet/member.json` in the user's data folder, for its owner only. */
const memberFile = z.object({
  machine: machineName,
  role,
  url: z.string(),
  /** The private key of this machine, which never leaves it. */
  seed: z.string(),
  /** Certificate of the broker, or the issuer of a cluster's certificates. No other is accepted. */
  cert: z.string(),
  /** Credential for a cluster, bound to the key. */
  jwt: z.string().optional(),
})

export type Member = z.infer<typeof memberFile>

/** The machines that may connect to the broker of this machine: `fleet/broker/broker.json`. */
const brokerFile = z.object({
  host: z.string(),
  port: z.number().int(),
  machines: z.array(z.object({ machine: machineName, role, key: z.string(), addedAt: z.string() })),
  /**
   * Keys that each let one machine join, once. `usedBy` is that machine's key: its answer may get lost, and then it
   * asks again.
   */
  invitations: z.array(
    z.object({ key: z.string(), role, expiresAt: z.string(), usedBy: z.string().optional() }),
  ),
  /** Three brokers that run by themselves: credentials are signed here, and no configuration is written. */
  cluster: z
    .object({
      keys: z.object({ operator: z.string(), account: z.string(), system: z.string() }),
      revoked: z.record(z.string(), z.number()),
    })
    .optional(),
})

export type BrokerFile = z.infer<typeof brokerFile>

const joinCode = z.object({ url: z.string(), cert: z.string(), seed: z.string(), jwt: z.string().optional() })
export type JoinCode = z.infer<typeof joinCode>

/** The private key with which a machine asks to join. After a lost answer it asks again with the same key. */
const joiningFile = z.object({ invitation: z.string(), seed: z.string() })

/** The key for an invitation, stored before the fleet hears of it. */
export async function joiningKey(home: string, invitation: string): Promise<{ seed: string; key: string }> {
  const file = joiningPath(home)
  const known = await read(file, joiningFile).catch(() => undefined)
  if (known?.invitation === invitation) return { seed: known.seed, key: publicKeyOf(known.seed) }
  const made = newKey()
  await write(file, JSON.stringify({ invitation, seed: made.seed }))
  return made
}

export async function forgetJoiningKey(home: string): Promise<void> {
  await rm(joiningPath(home), { force: true })
}

function joiningPath(home: string): string {
  return join(fleetFolder(home), 'joining.json')
}

export function fleetFolder(home: string): string {
  return join(home, 'fleet')
}

export function brokerFolder(home: string): string {
  return join(home, 'fleet', 'broker')
}

export async function readMember(home: string): Promise<Member | undefined> {
  return read(join(fleetFolder(home), 'member.json'), memberFile)
}

export async function writeMember(home: string, member: Member): Promise<void> {
  await write(join(fleetFolder(home), 'member.json'), JSON.stringify(member, null, 2))
}

export async function readBroker(home: string): Promise<BrokerFile | undefined> {
  return read(join(brokerFolder(home), 'broker.json'), brokerFile)
}

/** Also writes the configuration of a single broker, which is derived from it. */
export async function writeBroker(home: string, broker: BrokerFile): Promise<void> {
  const folder = brokerFolder(home)
  await write(join(folder, 'broker.json'), JSON.stringify(broker, null, 2))
  if (broker.cluster === undefined) await write(join(folder, 'nats.conf'), brokerConfig(broker, folder))
}

/**
 * Changes the broker file under a lock that holds across processes: the server lets machines in while a command revokes
 * one.
 */
export async function withBroker<T>(home: string, change: (broker: BrokerFile) => Promise<T>): Promise<T> {
  await requireBroker(home)
  const lock = await lockBroker(home)
  try {
    return await change(await requireBroker(home))
  } finally {
    await lock.release()
  }
}

async function lockBroker(home: string): Promise<ProjectLock> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await lockProject(brokerFolder(home), { address: 'the machines of the fleet' })
    } catch (error) {
      // The lock is held only while a file is written.
      if (!(error instanceof ProjectLockedError) || tries === MAX_LOCK_TRIES) throw error
      await sleep(LOCK_MS)
    }
  }
}

const MAX_LOCK_TRIES = 1_000
const LOCK_MS = 20

export async function requireBroker(home: string): Promise<BrokerFile> {
  const broker = await readBroker(home)
  if (broker === undefined && (await readMember(home)) === undefined) throw notSetUp()
  if (broker === undefined)
    throw fleetError(
      'fleet-not-set-up',
      'Machines are let in and revoked by the hub that made the fleet, and this is another one. Run it there.',
    )
  return broker
}

export function notSetUp(): Error {
  return fleetError(
    'fleet-not-set-up',
    'This machine is in no fleet. `chirality fleet init` makes one, `chirality fleet join CODE` joins one.',
  )
}

export function newKey(): { seed: string; key: string } {
  const pair = nkeys.createUser()
  return { seed: new TextDecoder().decode(pair.getSeed()), key: pair.getPublicKey() }
}

export function publicKeyOf(seed: string): string {
  return nkeys.fromSeed(new TextEncoder().encode(seed)).getPublicKey()
}

export function isPublicKey(key: string): boolean {
  try {
    return key.startsWith('U') && nkeys.fromPublic(key).getPublicKey() === key
  } catch {
    return false
  }
}

export function formatJoinCode(code: JoinCode): string {
  return Buffer.from(JSON.stringify(code)).toString('base64url')
}

export function parseJoinCode(text: string): JoinCode {
  try {
    return joinCode.parse(JSON.parse(Buffer.from(text.trim(), 'base64url').toString()))
  } catch (error) {
    throw fleetError('fleet-refused', 'This is no join code. `chirality fleet invite` prints one.', error)
  }
}

/** The configuration of `nats-server`. Every message is synced to the disk before it is acknowledged. */
export function brokerConfig(broker: BrokerFile, folder: string): string {
  const users = [
    ...broker.machines.map(({ machine, role, key }) => user(key, { machine, role })),
    ...broker.invitations.map(({ key }) => user(key)),
  ]
  return `# Written by chirality: change it with \`chirality fleet\`.
listen: ${JSON.stringify(hostPort(broker))}
pid_file: ${JSON.stringify(join(folder, 'nats.pid'))}
log_file: ${JSON.stringify(join(folder, 'nats.log'))}
logfile_size_limit: 10000000
max_payload: 8388608
ping_interval: "5s"
ping_max: 2
tls { cert_file: ${JSON.stringify(join(folder, 'cert.pem'))}, key_file: ${JSON.stringify(join(folder, 'key.pem'))}, timeout: 10 }
jetstream { store_dir: ${JSON.stringify(join(folder, 'store'))}, sync_interval: always }
authorization {
  timeout: 10
  users: [
${users.join('\n')}
  ]
}
`
}

function user(key: string, machine?: { machine: string; role: Role }): string {
  const rights =
    machine === undefined
      ? { publish: [subjects.join], subscribe: [`${inboxOf(JOINING)}.>`] }
      : rightsOf(machine.machine, machine.role)
  const joins = machine?.role === 'hub' ? [subjects.join] : []
  const list = (names: string[]) => `[${names.map(name => JSON.stringify(name)).join(', ')}]`
  const answers = machine === undefined ? '' : ', allow_responses: { max: 1, expires: "2m" }'
  return `    { nkey: ${JSON.stringify(key)}, permissions: { publish: ${list(rights.publish)}, subscribe: ${list([...rights.subscribe, ...joins])}${answers} } }`
}

/** Splits an address into its brokers: one, or all of a cluster. */
export function serversOf(url: string): string[] {
  return url.split(',').map(one => one.trim().replace(/^(tls|nats):\/\//, ''))
}

export function requireName(machine: string): void {
  if (isMachineName(machine)) return
  throw fleetError(
    'fleet-refused',
    `${shortened(machine)} cannot be the name of a machine. Take small letters, digits and dashes, at most 40.`,
  )
}

export async function requireNoMember(home: string): Promise<void> {
  if ((await readMember(home)) !== undefined)
    throw fleetError('fleet-exists', 'This machine is in a fleet already: `chirality fleet status` shows it.')
}

/** User name for joining. No machine can have it. */
export const JOINING = 'join-'

async function read<T>(file: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  try {
    return schema.parse(JSON.parse(text))
  } catch (error) {
    throw fleetError('fleet-not-set-up', `${file} is damaged. Remove it and join the fleet again.`, error)
  }
}

/** Writes atomically: after a power loss the file has the old text or the new one, never an empty one. */
export async function write(file: string, text: string): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true, mode: 0o700 })
  await writeFileAtomic(file, text)
}

/**
 * Locks the membership: two servers of one user would answer for the same machine, and the second would end the broker
 * of the first.
 */
export async function lockMember(home: string, machine: string): Promise<ProjectLock> {
  try {
    return await lockProject(fleetFolder(home), { address: `the fleet, as ${machine}` })
  } catch (error) {
    if (!(error instanceof ProjectLockedError)) throw error
    const message = `The process ${error.owner.pid} of yours is in the fleet as ${machine} already. Add the project to that server, or stop it first.`
    throw fleetError('fleet-refused', message, error)
  }
}

/** Reads the stream position that a hub reached. */
export function readCursor(file: string): number {
  try {
    const cursor = Number(readFileSync(file, 'utf8'))
    return Number.isSafeInteger(cursor) && cursor >= 0 ? cursor : 0
  } catch {
    return 0
  }
}
