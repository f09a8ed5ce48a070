// @ts-check
// The parent of one agent. It owns the ways out of the cage, tries them before the agent starts, and exits as the agent
// does. Usage: node keeper.mjs FOLDER NONCE, with the plan as one line of JSON on file descriptor 3.
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import { agentPid, bwrapArgs } from './bubblewrap.mjs'
import { listenGateway } from './gateway.mjs'
import { writeLaunchScript } from './launch-script.mjs'
import { Probe } from './probe.mjs'
import { listenProxy } from './proxy.mjs'
import { readLine, serverChannel } from './server-channel.mjs'
import { listenTunnel } from './tunnel.mjs'

/** @typedef {import('../cage-plan.ts').CagePlan} CagePlan */
/** @typedef {import('../cage-plan.ts').KeeperAnswer} KeeperAnswer */

const [folder = '', nonce = ''] = process.argv.slice(2)
const server = serverChannel()
/** @type {import('node:child_process').ChildProcess | undefined} */
let cage
/** @type {number | undefined} The monitor of the cage on the host; the agent is its child. */
let monitor
let isReady = false
/** @type {Promise<unknown>} */
let cageGone = Promise.resolve()

// A server that was killed before the cage was ready has no record of the agent, so nobody would end it.
server.once('close', () => {
  if (!isReady) end(1)
})
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => forward(signal))
// The terminal of the server is not the agent's.
process.on('SIGHUP', () => {})

main().catch(error => refuse(error instanceof Error ? error.message : String(error)))

async function main() {
  /** @type {CagePlan} */
  const plan = JSON.parse(await readLine(server))
  const sockets = path.join(folder, 'sockets')
  const proxyPort = await openWays(plan, sockets)
  const probe = await Probe.open({ plan, nonce })
  await writeLaunchScript({ plan, sockets, probe: probe.targets, proxyPort })
  const started = spawn(plan.bwrap, bwrapArgs(plan, sockets), {
    // 3: the probe's report and the agent's start; 4: the pid of the monitor.
    stdio: [0, 1, 2, 'pipe', 'pipe'],
    env: { ...plan.env, ...proxyVariables(proxyPort) },
    detached: true,
  })
  cage = started
  const exited = new Promise(resolve => {
    started.once('error', error => resolve(`bubblewrap could not be started: ${error.message}`))
    started.once('exit', (code, signal) => resolve({ code, signal }))
  })
  cageGone = exited
  const [, , , report, info] = /** @type {any} */ (started.stdio)
  for (const stream of [report, info]) stream?.on('error', () => {})
  readLine(info, '}').then(text => {
    monitor = JSON.parse(text)['child-pid']
  }, ignore)
  // The report also ends when bubblewrap fails, and its exit says more.
  const verdict = await probe.read(report).catch(() => exited.then(failureOf))
  await probe.close()
  if (typeof verdict === 'string') return refuse(verdict)
  const { tries, fault } = verdict
  if (fault !== undefined) return refuse(fault, tries)
  isReady = true
  answer({ kind: 'ready', tries })
  report.end('go\n')
  const how = await exited
  if (typeof how === 'string') return end(1)
  endLike(how)
}

/**
 * The sockets by which the cage is left. Their names are relative: the system cuts a long path off without an error.
 * @param {CagePlan} plan
 * @param {string} sockets
 */
async function openWays(plan, sockets) {
  process.chdir(sockets)
  const proxyPort = freePort(plan)
  await listenProxy(`${proxyPort}.sock`, nonce)
  for (const gateway of plan.gateways) await listenGateway(`${gateway.port}.sock`, gateway)
  for (const port of plan.ports) await listenTunnel(`${port}.sock`, port)
  return proxyPort
}

/** @param {CagePlan} plan */
function freePort({ gateways, ports }) {
  const taken = new Set([...ports, ...gateways.map(({ port }) => port)])
  let port = FIRST_PORT
  while (taken.has(port)) port += 1
  return port
}

const FIRST_PORT = 3128

/** @param {number} port */
function proxyVariables(port) {
  const url = `http://127.0.0.1:${port}`
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy']
  const none = '127.0.0.1,localhost,::1'
  return { ...Object.fromEntries(names.map(name => [name, url])), NO_PROXY: none, no_proxy: none }
}

/** @param {string | { code: number | null, signal: string | null }} how */
function failureOf(how) {
  if (typeof how === 'string') return how
  return `bubblewrap could not make the cage (${how.signal ?? `exit code ${how.code}`}). The system may forbid user namespaces, as many containers do, and Ubuntu with kernel.apparmor_restrict_unprivileged_userns. \`bwrap --unshare-user --ro-bind / / true\` says why; or turn the cage off.`
}

/**
 * @param {string} reason
 * @param {import('../cage-plan.ts').CageTry[]} [tries]
 */
async function refuse(reason, tries = []) {
  killCage()
  await cageGone
  answer({ kind: 'refused', reason, tries })
  server.end(() => end(1))
}

/** @param {KeeperAnswer} message */
function answer(message) {
  server.write(`${JSON.stringify(message)}\n`)
}

/** @param {'SIGINT' | 'SIGTERM'} signal */
function forward(signal) {
  const pid = monitor === undefined || !isReady ? undefined : agentPid(monitor)
  // Before the agent has started, and for one that cannot be found, the cage itself is ended, and all in it.
  if (pid === undefined) return end(1)
  try {
    process.kill(pid, signal)
  } catch {
    // The agent has exited meanwhile.
  }
}

/** @param {{ code: number | null, signal: NodeJS.Signals | null }} how */
function endLike({ code, signal }) {
  // bubblewrap reports the signal that ended the agent as a shell does.
  const number = code !== null && code > 128 ? code - 128 : undefined
  const name = signal ?? Object.entries(constants.signals).find(([, value]) => value === number)?.[0]
  if (name === undefined) return end(code ?? 1)
  removeFolder()
  process.removeAllListeners(name)
  process.kill(process.pid, name)
  // A signal that does not end a process by itself leaves the exit code of the shell.
  setTimeout(() => process.exit(code ?? 1), 100)
}

/** @param {number} code */
function end(code) {
  killCage()
  removeFolder()
  process.exit(code)
}

/** The first process inside takes all others with it, and bubblewrap ends when they are gone. */
function killCage() {
  if (cage?.pid === undefined || cage.exitCode !== null || cage.signalCode !== null) return
  try {
    process.kill(monitor ?? -cage.pid, 'SIGKILL')
  } catch {
    // Nothing of the cage runs.
  }
}

function removeFolder() {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    // The server's own clean-up tries again.
  }
}

function ignore() {}
