import { open, readFile, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { buildChildEnv, processEnv, runHelper, startProgram } from '@chirality/runner'
import { fleetError } from '../fleet-error.ts'
import { hostPort } from './address.ts'
import { type BrokerFile, brokerFolder } from './fleet-files.ts'

export interface RunningBroker {
  stop(): Promise<void>
}

/**
 * Starts the broker of this machine, and again whenever it ends. Resolves when it takes connections. One that a killed
 * server left is used as it is, watched like the others, and ended with this server. `onNews`: for people, when it ends.
 */
export async function startBroker(
  home: string,
  broker: Pick<BrokerFile, 'host' | 'port'>,
  { binary, onNews = () => {} }: { binary: string; onNews?: (text: string) => void },
): Promise<RunningBroker> {
  const folder = brokerFolder(home)
  const left = await brokerPid(home)
  if (left === undefined && (await isListening(broker)))
    throw fleetError('fleet-no-broker', takenText(broker))
  // One that begins now reads this file itself: a signal while it begins refuses machines for a moment.
  const readAt = left === undefined ? await configTime(home) : undefined
  let running = left === undefined ? await spawnBroker(home, binary) : adoptBroker(left)
  const stopping = new AbortController()
  const starting = new AbortController()
  if (left === undefined) {
    const failed = running.ended.then(why => {
      throw fleetError('fleet-no-broker', explainEnd(why, broker, folder))
    })
    failed.catch(() => {})
    await Promise.race([failed, whenListening(broker, starting.signal)]).finally(() => starting.abort())
  }
  const watch = async () => {
    let told = ''
    for (let pause = RESTART_MS; ; ) {
      const begunAt = performance.now()
      const why = await running.ended
      if (stopping.signal.aborted) return
      const text = explainEnd(why, broker, folder)
      // One that cannot start is tried again for ever, and its reason is said once.
      pause = performance.now() - begunAt > STEADY_MS ? RESTART_MS : Math.min(pause * 2, MAX_RESTART_MS)
      if (text !== told || pause === RESTART_MS) onNews(`${text} It is started again.`)
      told = text
      await sleep(pause, undefined, { ref: false, signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return
      running = await spawnBroker(home, binary)
      // Its end is waited for below: one that began while this was stopped would run for ever.
      if (stopping.signal.aborted) return stop(running)
    }
  }
  const watched = watch()
  const read = rereadConfig(home, readAt, stopping.signal)
  return {
    stop: async () => {
      stopping.abort()
      await stop(running)
      await Promise.all([watched, read])
    },
  }
}

/**
 * Whoever changed the keys may have been killed before it told the broker, or the broker was just starting: a key that was
 * revoked would be let in. The broker is told whenever its configuration is another file than the one it `readAt`.
 */
async function rereadConfig(home: string, readAt: number | undefined, signal: AbortSignal): Promise<void> {
  for (let known = readAt; !signal.aborted; ) {
    const mtimeMs = await configTime(home)
    if (mtimeMs !== undefined && mtimeMs !== known) {
      const isTold = await reloadBroker(home).catch(() => false)
      if (isTold) known = mtimeMs
    }
    await sleep(CONFIG_LOOK_MS, undefined, { ref: false, signal }).catch(() => {})
  }
}

async function configTime(home: string): Promise<number | undefined> {
  const facts = await stat(join(brokerFolder(home), 'nats.conf')).catch(() => undefined)
  return facts?.mtimeMs
}

interface BrokerProcess {
  signal: (name: 'SIGTERM' | 'SIGKILL') => void
  /** Why it ended. */
  ended: Promise<string>
}

async function spawnBroker(home: string, binary: string): Promise<BrokerProcess> {
  const log = join(brokerFolder(home), 'nats.log')
  const logged = await stat(log).then(
    ({ size }) => size,
    () => 0,
  )
  const started = await startProgram(binary, ['-c', join(brokerFolder(home), 'nats.conf')], {
    env: { ...buildChildEnv({ source: processEnv() }).env },
    stdio: ['ignore', 'ignore', 'pipe'],
    // Ctrl-C reaches the server only: it ends the broker after its last words.
    detached: true,
  }).catch((error: Error) => error)
  if (started instanceof Error) return { signal: () => {}, ended: Promise.resolve(started.message) }
  const { child, stderr } = started
  let said = ''
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000)
  })
  const ended = new Promise<string>(resolve => {
    child.once('exit', (code, signal) => {
      const how = signal === null ? `exit code ${code}` : `ended by ${signal}`
      const own = said.trim().split('\n').at(-1)
      void lastFault(log, logged)
        .catch(() => undefined)
        .then(fault => resolve(fault || own || how))
    })
  })
  return { signal: name => void child.kill(name), ended }
}

/** What a broker wrote last about a fault, since its log had a size. It says nothing of it on stderr. */
async function lastFault(log: string, since: number): Promise<string | undefined> {
  const file = await open(log).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const { size } = await file.stat()
    // A log that is shorter now began anew.
    const from = Math.max(since <= size ? since : 0, size - LOG_TAIL)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOG_TAIL), 0, LOG_TAIL, from)
    const faults = buffer.toString('utf8', 0, bytesRead).match(/(?<=\[FTL\] ).*/g)
    return faults?.at(-1)?.trim().slice(0, 500)
  } finally {
    await file.close()
  }
}

type Listens = Pick<BrokerFile, 'host' | 'port'>

/** What is wrong, and what to do. */
export function explainEnd(why: string, broker: Listens, folder: string): string {
  if (/address already in use/.test(why)) return takenText(broker)
  if (/cannot assign requested address|no such host/.test(why))
    return `${broker.host} is no address of this machine now, so the broker cannot listen on it. Give it back to the machine, or make the fleet anew: \`chirality fleet leave --force\`, then \`chirality fleet init --host\` with another.`
  if (/no space left|disk quota exceeded/i.test(why))
    return `The disk of ${folder} is full, so the broker cannot run. Make room there.`
  if (/permission denied|read-only file system|not a directory|could not create storage/i.test(why))
    return `The broker cannot write to ${folder}: ${why}. Make the folder and all in it yours and writable.`
  return `nats-server does not run: ${why}. Its log is ${join(folder, 'nats.log')}.`
}

function takenText(broker: Listens): string {
  return `Another program listens on ${hostPort(broker)}. Stop it; the broker of this fleet has to be there.`
}

/** A process that is not our child: nobody tells us when it ends. */
function adoptBroker(pid: number): BrokerProcess {
  let isOver = false
  const ended = (async () => {
    // One that nobody waited for is alive still, with an empty command.
    while (isAlive(pid) && (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '?')) !== '')
      await sleep(ADOPTED_LOOK_MS, undefined, { ref: false })
    isOver = true
    return 'it ended'
  })()
  // Its number may be another program's by now.
  return { ended, signal: name => !isOver && isAlive(pid) && process.kill(pid, name) }
}

/** Ends the broker that a killed server left, if there is one. */
export async function endBroker(home: string): Promise<void> {
  const left = await brokerPid(home)
  if (left !== undefined) await stop(adoptBroker(left))
}

/**
 * Makes the running broker read its configuration again. False if none runs. Told once of each configuration, by whoever
 * is first: while it reads, it drops the answers of machines that were asked something.
 */
export async function reloadBroker(home: string): Promise<boolean> {
  const pid = await brokerPid(home)
  if (pid === undefined) return false
  const config = await stat(join(brokerFolder(home), 'nats.conf'))
  // Two that are written within one tick of the disk's clock are two files.
  const told = `${pid} ${config.ino} ${config.mtimeMs}`
  const file = join(brokerFolder(home), TOLD)
  if ((await readFile(file, 'utf8').catch(() => '')) === told) return true
  process.kill(pid, 'SIGHUP')
  // After the signal: whoever is killed in between has it told again.
  await writeFile(file, told, { mode: 0o600 }).catch(() => {})
  return true
}

/** Names the process of the broker that was told last, and the file of the configuration. */
const TOLD = 'nats.told'

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
  const { env } = buildChildEnv({ source: processEnv() })
  const { stdout } = await runHelper('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { env })
  return stdout.trimEnd().endsWith(` ${config}`) ? pid : undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function whenListening(broker: Listens, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !(await isListening(broker))) await sleep(20)
}

/** A broker greets whoever connects. */
function isListening({ host, port }: Listens): Promise<boolean> {
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

const STOP_MS = 10_000
const RESTART_MS = 1_000
const MAX_RESTART_MS = 30_000
/** One that ran this long did not fail at its start. */
const STEADY_MS = 60_000
const LOG_TAIL = 16_384
const ADOPTED_LOOK_MS = 200
const CONFIG_LOOK_MS = 2_000
