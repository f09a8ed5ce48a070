// @ts-check
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import path from 'node:path'

/** @typedef {import('../cage-plan.ts').CageTry} CageTry */
/** @typedef {import('../cage-plan.ts').CageTryName} CageTryName */

/**
 * @typedef {object} ProbeTargets
 * @property {string} nonce
 * @property {string} homeCanary
 * @property {string} homeWrite
 * @property {string[]} dataFiles
 * @property {string[]} systemWrites
 * @property {[string, number]} rawAddress
 * @property {string} nameServer
 * @property {number} loopbackPort
 * @property {string} abstractName
 */

/** The order in which they are shown; the names are those of `CAGE_TRIES`. */
const NAMES = /** @type {const} */ ([
  ...['home-read', 'home-write', 'data-read', 'system-write', 'foreign-host', 'raw-address'],
  ...['metadata-address', 'dns', 'host-loopback', 'abstract-socket', 'host-processes'],
])

/** Things on the host that an agent must not reach, and what reached them all the same. */
export class Probe {
  /** @type {Set<string>} */
  #reached = new Set()
  /** @type {import('node:net').Server[]} */
  #servers = []
  /** @type {string[]} */
  #files = []
  /** @type {ProbeTargets} */
  targets

  /** @param {ProbeTargets} targets */
  constructor(targets) {
    this.targets = targets
  }

  /**
   * Puts the targets up. Rejects if one of them cannot be: an attempt without its target proves nothing.
   * @param {{ plan: import('../cage-plan.ts').CagePlan, nonce: string }} options
   */
  static async open({ plan, nonce }) {
    const { home, dataFolder, tokenFiles } = plan.probe
    const id = randomBytes(8).toString('hex')
    const probe = new Probe({
      nonce,
      homeCanary: path.join(home, `.chirality-canary-${id}`),
      homeWrite: path.join(home, `.chirality-written-${id}`),
      dataFiles: [path.join(dataFolder, `canary-${id}`), ...tokenFiles],
      systemWrites: ['/usr', '/etc', '/opt', '/bin'].map(folder => `${folder}/.chirality-${id}`),
      rawAddress: ['127.0.0.2', 0],
      nameServer: nameServer(),
      loopbackPort: 0,
      abstractName: `chirality-${id}`,
    })
    try {
      await probe.#putUp()
    } catch (error) {
      await probe.close()
      throw error
    }
    return probe
  }

  async #putUp() {
    const { targets } = this
    for (const file of [targets.homeCanary, targets.dataFiles[0] ?? '']) {
      this.#files.push(file)
      writeFileSync(file, 'A probe of the cage made this file. It can be removed.\n', {
        mode: 0o600,
        flag: 'wx',
      })
    }
    const address = ownAddress()
    targets.rawAddress = [address, await this.#listen('raw-address', { host: address, port: 0 })]
    targets.loopbackPort = await this.#listen('host-loopback', { host: '127.0.0.1', port: 0 })
    await this.#listen('abstract-socket', { path: `\0${targets.abstractName}` })
  }

  /**
   * @param {CageTryName} name
   * @param {import('node:net').ListenOptions} place
   * @returns {Promise<number>}
   */
  #listen(name, place) {
    const server = createServer(socket => {
      this.#reached.add(name)
      socket.on('error', () => {})
      socket.destroy()
    })
    this.#servers.push(server)
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(place, () => {
        const address = server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
  }

  /**
   * The result, as the script reports it and as the targets saw it. An attempt without a report counts as one that
   * got through.
   * @param {import('node:stream').Duplex} report
   * @returns {Promise<{ tries: CageTry[], fault?: string }>}
   */
  async read(report) {
    const said = await linesOf(report)
    if (said.get('control') !== this.targets.nonce)
      return {
        tries: [],
        fault: "The probe of the cage could not reach the cage's own proxy, so its attempts prove nothing.",
      }
    if (existsSync(this.targets.homeWrite)) this.#reached.add('home-write')
    for (const file of this.targets.systemWrites) if (existsSync(file)) this.#reached.add('system-write')
    const tries = NAMES.map(name => ({ name, held: said.get(name) === 'held' && !this.#reached.has(name) }))
    const through = tries.filter(({ held }) => !held).map(({ name }) => name)
    if (through.length === 0) return { tries }
    return {
      tries,
      fault: `The cage does not hold: ${through.join(', ')} got through, so the agent was not started.`,
    }
  }

  /** Removes the targets. */
  async close() {
    const { homeWrite, systemWrites } = this.targets
    for (const file of [...this.#files, homeWrite, ...systemWrites]) rmSync(file, { force: true })
    for (const server of this.#servers) server.close()
  }
}

/**
 * The lines up to `end`, by their first word.
 * @param {import('node:stream').Duplex} report
 * @returns {Promise<Map<string, string>>}
 */
function linesOf(report) {
  return new Promise((resolve, reject) => {
    let text = ''
    report.setEncoding('utf8')
    report.on('data', chunk => {
      text += chunk
      if (!text.includes('end\n')) return
      const lines = text.split('\n').map(line => line.split(' '))
      resolve(new Map(lines.map(([name = '', word = '']) => [name, word])))
    })
    report.once('end', () => reject(new Error('The probe of the cage ended without a report.')))
  })
}

/** An address of this machine that is not its loopback, if it has one. */
function ownAddress() {
  const addresses = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.2'
}

function nameServer() {
  try {
    const address = /^nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/m.exec(
      readFileSync('/etc/resolv.conf', 'utf8'),
    )?.[1]
    return address ?? FALLBACK_NAME_SERVER
  } catch {
    return FALLBACK_NAME_SERVER
  }
}

const FALLBACK_NAME_SERVER = '127.0.0.53'
