import { execFile, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { buildChildEnv, processEnv } from '@chirality/runner'
import { fleetError } from '../fleet-error.ts'
import { isMachineName, machineNameOf, type Role, subjects } from '../subjects.ts'
import { certificateFingerprint, keyFingerprint, makeCertificate } from './certificate.ts'
import { tellBrokers } from './cluster.ts'
import { type ClusterKeys, invitationCredential, machineCredential } from './credentials.ts'
import {
  type BrokerFile,
  brokerFolder,
  formatJoinCode,
  isPublicKey,
  JOINING,
  type Member,
  newKey,
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
import { Link } from './link.ts'

export interface InitOptions {
  home: string
  /** Default: made of the host's name. */
  machine?: string
  /** The address that the broker listens on, and that other machines dial. Default 127.0.0.1. */
  host?: string
  port?: number
  /** Further names of this machine, for the certificate. */
  names?: readonly string[]
}

/** Makes this machine the first hub of a new fleet, with the broker. Starts nothing. */
export async function initFleet(options: InitOptions): Promise<Member> {
  const { home, machine = machineNameOf(hostname()), host = '127.0.0.1', port = 4222, names = [] } = options
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
  const member: Member = { machine, role: 'hub', url: `tls://${dialled}:${port}`, seed, cert }
  await writeMember(home, member)
  return member
}

/** A code with which one machine can join, once, within a day. */
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
  const jwt = keys === undefined ? {} : { jwt: invitationCredential(keys, key, JOINING, until) }
  return { code: formatJoinCode({ url, cert, seed, ...jwt }), fingerprint: certificateFingerprint(cert) }
}

/** Takes the rights of a machine away. Its connection is cut at once. */
export async function revoke(home: string, machine: string): Promise<void> {
  const broker = await requireBroker(home)
  const found = broker.machines.find(one => one.machine === machine)
  if (found === undefined)
    throw fleetError('fleet-refused', `No machine ${JSON.stringify(machine)} has a key for this fleet.`)
  const member = await readMember(home)
  if (member === undefined || member.machine === machine)
    throw fleetError('fleet-refused', 'This machine lets the others in: it cannot be revoked.')
  const { key } = found
  const seconds = Math.floor(Date.now() / 1000)
  await withBroker(home, async ({ cluster, ...stored }) => {
    if (cluster === undefined) return
    const revoked = { ...cluster.revoked, [key]: seconds }
    await writeBroker(home, { ...stored, cluster: { ...cluster, revoked } })
  })
  // The brokers of a cluster first: a machine that is still let in is shown as one that has a key.
  await tellRevoked(home, member)
  await withBroker(home, async ({ machines, ...stored }) =>
    writeBroker(home, { ...stored, machines: machines.filter(one => one.key !== key) }),
  )
  await reloadBroker(home)
}

/** Tells the brokers of a cluster all that are revoked, also those that were meanwhile. */
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

/** Makes this machine's own key, and gives the public half to the fleet. */
export async function joinFleet(options: {
  home: string
  code: string
  machine?: string
}): Promise<{ member: Member; fingerprint: string; key: string }> {
  const { home, machine = machineNameOf(hostname()) } = options
  requireName(machine)
  await requireNoMember(home)
  const { url, cert, seed: invitation, ...code } = parseJoinCode(options.code)
  const link = await Link.open({ url, cert, seed: invitation, ...code, machine: JOINING })
  try {
    const { seed, key } = newKey()
    const invitedBy = publicKeyOf(invitation)
    const request = Buffer.from(JSON.stringify({ machine, key, invitation: invitedBy }))
    const answer = await link.request(subjects.join, request, JOIN_MS)
    if (answer.kind !== 'answer')
      throw fleetError(
        'fleet-refused',
        'The machine with the broker does not answer. Start `chirality serve --fleet` there.',
      )
    const said = JSON.parse(Buffer.from(answer.body).toString()) as {
      role?: Role
      jwt?: string
      refused?: string
    }
    if (said.role === undefined)
      throw fleetError('fleet-refused', said.refused ?? 'The fleet refused this machine.')
    const { role, jwt } = said
    const member: Member = { machine, role, url, seed, cert, ...(jwt === undefined ? {} : { jwt }) }
    await writeMember(home, member)
    return { member, fingerprint: certificateFingerprint(cert), key: keyFingerprint(key) }
  } finally {
    await link.close()
  }
}

export interface RunningBroker {
  stop(): Promise<void>
}

/**
 * Starts the broker of this machine, and again whenever it ends. Resolves when it takes connections. One that a killed
 * server left is used as it is, watched like the others, and ended with this server.
 */
export async function startBroker(home: string, binary: string): Promise<RunningBroker> {
  const broker = await withBroker(home, async stored => {
    await writeBroker(home, { ...stored, invitations: current(stored) })
    return stored
  })
  const left = await brokerPid(home)
  if (left === undefined && (await isListening(broker)))
    throw fleetError(
      'fleet-no-broker',
      `Another program listens on ${broker.host}:${broker.port}. Stop it; the broker of this fleet has to be there.`,
    )
  let running = left === undefined ? spawnBroker(home, binary) : adoptBroker(left)
  let isStopping = false
  const starting = new AbortController()
  if (left === undefined) {
    const log = join(brokerFolder(home), 'nats.log')
    const failed = running.ended.then(why => {
      throw fleetError('fleet-no-broker', `nats-server does not run: ${why}. Its log is ${log}.`)
    })
    failed.catch(() => {})
    await Promise.race([failed, whenListening(broker, starting.signal)]).finally(() => starting.abort())
  }
  const watch = (watched: BrokerProcess) =>
    void watched.ended.then(async () => {
      await sleep(RESTART_MS, undefined, { ref: false })
      if (isStopping) return
      running = spawnBroker(home, binary)
      watch(running)
    })
  watch(running)
  return {
    stop: async () => {
      isStopping = true
      await stop(running)
    },
  }
}

interface BrokerProcess {
  signal: (name: 'SIGTERM' | 'SIGKILL') => void
  /** Why it ended. */
  ended: Promise<string>
}

function spawnBroker(home: string, binary: string): BrokerProcess {
  const child = spawn(binary, ['-c', join(brokerFolder(home), 'nats.conf')], {
    env: { ...buildChildEnv({ source: processEnv() }).env },
    stdio: ['ignore', 'ignore', 'pipe'],
    // Ctrl-C reaches the server only: it ends the broker after its last words.
    detached: true,
  })
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000)
  })
  const ended = new Promise<string>(resolve => {
    child.once('error', error => resolve(error.message))
    child.once('exit', code => resolve(said.trim().split('\n').at(-1) || `exit code ${code}`))
  })
  return { signal: name => void child.kill(name), ended }
}

/** A process that is not our child: nobody tells us when it ends. */
function adoptBroker(pid: number): BrokerProcess {
  const ended = (async () => {
    // One that nobody waited for is alive still, with an empty command.
    while (isAlive(pid) && (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '?')) !== '')
      await sleep(ADOPTED_LOOK_MS, undefined, { ref: false })
    return 'it ended'
  })()
  return { ended, signal: name => isAlive(pid) && process.kill(pid, name) }
}

/**
 * Answers machines that want to join, for as long as the link is open. Whenever it is made the brokers of a cluster hear
 * who is revoked: those that lost their disks would let them in again.
 */
export function letIn(home: string, link: Link, onJoin: (machine: string, key: string) => void): () => void {
  let isOpen = true
  const tell = async () => {
    while (isOpen && link.connected) {
      try {
        const member = await readMember(home)
        return member && (await tellRevoked(home, member))
      } catch {
        await sleep(RESTART_MS, undefined, { ref: false })
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

/** Answers machines that want to join, for as long as the link is open. */
export function answerJoins(
  home: string,
  link: Link,
  onJoin: (machine: string, key: string) => void,
): () => void {
  let turn = Promise.resolve()
  return link.serve(subjects.join, body => {
    const answer = turn.then(() => admit(home, body, onJoin))
    turn = answer.then(
      () => {},
      () => {},
    )
    return answer.then(said => Buffer.from(JSON.stringify(said)))
  })
}

type Judged = { refused: string } | { role: Role; keys: ClusterKeys | undefined }

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
      const invited = current(broker).find(one => one.key === invitation)
      if (invited === undefined) return { refused: 'This code was used, or is older than a day.' }
      if (broker.machines.some(one => one.machine === machine))
        return { refused: `There is a machine ${machine} already. Give another name with --name.` }
      const { role } = invited
      const invitations = current(broker).filter(one => one.key !== invitation)
      const machines = [...broker.machines, { machine, role, key, addedAt: new Date().toISOString() }]
      await writeBroker(home, { ...broker, machines, invitations })
      return { role, keys: broker.cluster?.keys }
    })
    if ('refused' in answer) return answer
    onJoin(machine, keyFingerprint(key))
    const { role, keys } = answer
    if (keys !== undefined) return { role, jwt: machineCredential(keys, key, machine, role) }
    // The answer first: the reload cuts the connection of the invitation.
    setTimeout(() => void reloadBroker(home).catch(() => {}), ANSWER_MS)
    return { role }
  } catch {
    return { refused: 'The machine with the broker could not store the key.' }
  }
}

/** Makes the running broker read its configuration again. */
async function reloadBroker(home: string): Promise<void> {
  const pid = await brokerPid(home)
  if (pid !== undefined) process.kill(pid, 'SIGHUP')
}

/**
 * The process of our configuration: a number in a file may have become another program. Where the command of a process
 * cannot be read, it is not ours.
 */
export async function brokerPid(home: string, proc = '/proc'): Promise<number | undefined> {
  const folder = brokerFolder(home)
  const pid = Number(await readFile(join(folder, 'nats.pid'), 'utf8').catch(() => ''))
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return undefined
  const config = join(folder, 'nats.conf')
  const command = await readFile(`${proc}/${pid}/cmdline`, 'utf8').catch(() => undefined)
  if (command !== undefined) return command.split('\0').includes(config) ? pid : undefined
  // Without /proc, as on macOS. The words are joined by spaces there, and ours is the last.
  const words = await promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(pid)]).catch(
    () => undefined,
  )
  return words?.stdout.trimEnd().endsWith(` ${config}`) ? pid : undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function whenListening(broker: BrokerFile, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await isListening(broker))) await sleep(20)
}

/** A broker greets whoever connects. */
function isListening({ host, port }: BrokerFile): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, host === '0.0.0.0' ? '127.0.0.1' : host)
    const end = (answered: boolean) => {
      socket.destroy()
      resolve(answered)
    }
    socket.once('data', () => end(true)).once('error', () => end(false))
    socket.once('close', () => end(false)).setTimeout(1_000, () => end(false))
  })
}

async function stop({ signal, ended }: BrokerProcess): Promise<void> {
  signal('SIGTERM')
  const force = setInterval(() => signal('SIGKILL'), STOP_MS)
  await ended
  clearInterval(force)
}

function current(broker: BrokerFile): BrokerFile['invitations'] {
  const now = new Date().toISOString()
  return broker.invitations.filter(({ expiresAt }) => expiresAt > now)
}

export function notSetUp(): Error {
  return fleetError(
    'fleet-not-set-up',
    'This machine is in no fleet. `chirality fleet init` makes one, `chirality fleet join CODE` joins one.',
  )
}

const INVITATION_MS = 86_400_000
const JOIN_MS = 20_000
const ANSWER_MS = 200
const STOP_MS = 10_000
const RESTART_MS = 1_000
const ADOPTED_LOOK_MS = 200
