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
 * Starts the broker of this machine, and restarts it whenever it ends. Resolves when it accepts connections. A broker
 * left by a killed server is adopted as it is, watched like the others, and ended with this server. `onNews` receives a
 * text for the user when the broker ends.
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
  // A new broker reads the configuration itself: a reload signal during its start would make it refuse machines for a
  // moment.
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
      // A broker that cannot start is retried for ever, and its reason is reported once.
      pause = performance.now() - begunAt > STEADY_MS ? RESTART_MS : Math.min(pause * 2, MAX_RESTART_MS)
      if (text !== told || pause === RESTART_MS) onNews(`${text} It is started again.`)
      told = text
      await sleep(pause, undefined, { ref: false, signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return
      running = await spawnBroker(home, binary)
      // The broker started while `stop` ran. Without waiting for its end here it would run for ever.
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
 * Reloads the broker whenever its configuration file is not the one of `readAt`. Without this a revoked key stays
 * accepted if the process that changed the keys was killed before it signalled the broker, or signalled it during its
 * start.
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
  /** Resolves with the reason for the end. */
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
    // Keeps Ctrl-C away from the broker: the server ends it after the last events are shipped.
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

/** The last fatal line that the broker wrote to its log after offset `since`. Nothing of it appears on stderr. */
async function lastFault(log: string, since: number): Promise<string | undefined> {
  const file = await open(log).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const { size } = await file.stat()
    // A shorter log was started anew, so it is read from its beginning.
    const from = Math.max(since <= size ? since : 0, size - LOG_TAIL)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOG_TAIL), 0, LOG_TAIL, from)
    const faults = buffer.toString('utf8', 0, bytesRead).match(/(?<=\[FTL\] ).*/g)
    return faults?.at(-1)?.trim().slice(0, 500)
  } finally {
    await file.close()
  }
}

type Listens = Pick<BrokerFile, 'host' | 'port'>

/** Explains why the broker ended, and how to mend it. */
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

/** Watches a broker that is not a child of this process, by polling: its exit event never reaches us. */
function adoptBroker(pid: number): BrokerProcess {
  let isOver = false
  const ended = (async () => {
    // A zombie counts as alive and has an empty command line.
    while (isAlive(pid) && (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '?')) !== '')
      await sleep(ADOPTED_LOOK_MS, undefined, { ref: false })
    isOver = true
    return 'it ended'
  })()
  // Once the process is over, its pid may belong to another program.
  return { ended, signal: name => !isOver && isAlive(pid) && process.kill(pid, name) }
}

/** Ends a broker that a killed server left. */
export async function endBroker(home: string): Promise<void> {
  const left = await brokerPid(home)
  if (left !== undefined) await stop(adoptBroker(left))
}

/**
 * Makes the running broker read its configuration again. False if none runs. Signals once per configuration, whichever
 * caller is first: while the broker reads it, answers between machines are dropped.
 */
export async function reloadBroker(home: string): Promise<boolean> {
  const pid = await brokerPid(home)
  if (pid === undefined) return false
  const config = await stat(join(brokerFolder(home), 'nats.conf'))
  // Two configurations written within one tick of the file system's clock differ in their inode.
  const told = `${pid} ${config.ino} ${config.mtimeMs}`
  const file = join(brokerFolder(home), TOLD)
  if ((await readFile(file, 'utf8').catch(() => '')) === told) return true
  process.kill(pid, 'SIGHUP')
  // Written after the signal: if the process is killed in between, the signal is sent again.
  await writeFile(file, told, { mode: 0o600 }).catch(() => {})
  return true
}

/** File that names the process and the configuration file of the last reload. */
const TOLD = 'nats.told'

/**
 * Pid of the broker that runs our configuration. The pid file alone is not enough, because the number may belong to
 * another program by now. A process whose command line cannot be read is not ours.
 */
export async function brokerPid(home: string, proc = '/proc'): Promise<number | undefined> {
  const folder = brokerFolder(home)
  const pid = Number(await readFile(join(folder, 'nats.pid'), 'utf8').catch(() => ''))
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return undefined
  const config = join(folder, 'nats.conf')
  const command = await readFile(`${proc}/${pid}/cmdline`, 'utf8').catch(() => undefined)
  if (command !== undefined) return command.split('\0').includes(config) ? pid : undefined
  // Systems without /proc, such as macOS: `ps` joins the arguments by spaces, and the configuration is the last one.
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

/** True if a broker answers: it sends a greeting to every connection. */
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
/** A broker that ran this long did not fail at its start. */
const STEADY_MS = 60_000
const LOG_TAIL = 16_384
const ADOPTED_LOOK_MS = 200
const CONFIG_LOOK_MS = 2_000
