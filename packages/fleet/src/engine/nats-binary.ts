import { execFile } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { buildChildEnv, processEnv } from '@chirality/runner'
import { fleetError } from '../fleet-error.ts'

export interface FindNatsOptions {
  /** The user's data folder: a fetched program is kept in `fleet/bin`. */
  home: string
  /** Whether to fetch the distribution's package if there is no suitable program. */
  fetch?: boolean
  env?: Record<string, string>
  onProgress?: (text: string) => void
}

export interface NatsBinary {
  path: string
  version: string
}

/** A `nats-server` that can do what a fleet needs. Throws `fleet-no-broker` with each reason and the way out. */
export async function findNatsServer(options: FindNatsOptions): Promise<NatsBinary> {
  const { home, fetch = false, env = processEnv(), onProgress = () => {} } = options
  const named = env[BIN_VARIABLE]
  const kept = join(home, 'fleet', 'bin', 'nats-server')
  const candidates = named ? [named] : [...onPath(env.PATH), kept]
  const reasons: string[] = []
  for (const path of candidates.filter(path => named !== undefined || isProgram(path))) {
    const found = await judge(path)
    if ('version' in found) return { path, version: found.version }
    reasons.push(`${path}: ${found.reason}`)
  }
  if (fetch && named === undefined) {
    try {
      onProgress('Fetching nats-server from the distribution.')
      await fetchPackage(kept)
      const found = await judge(kept)
      if ('version' in found) return { path: kept, version: found.version }
      reasons.push(`${kept}: ${found.reason}`)
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error))
    }
  }
  const seen = reasons.length > 0 ? ` ${reasons.join(' ')}` : ''
  throw fleetError(
    'fleet-no-broker',
    `There is no suitable nats-server here.${seen} Install ${MINIMUM.join('.')} or later, or name it with ${BIN_VARIABLE}.`,
  )
}

export const BIN_VARIABLE = 'CHIRALITY_NATS_BIN'
/** Before it, a crash of the process could lose whole streams. */
const MINIMUM = [2, 10, 23] as const

function onPath(path = ''): string[] {
  return [...path.split(delimiter).filter(Boolean), '/usr/sbin', '/usr/local/bin'].map(folder =>
    join(folder, 'nats-server'),
  )
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** By its version, and by what it accepts: the configuration of a fleet is tested with it. */
async function judge(path: string): Promise<{ version: string } | { reason: string }> {
  const said = await run(path, ['--version']).catch((error: Error) => error)
  if (said instanceof Error) return { reason: `it cannot be run (${said.message.split('\n')[0]}).` }
  const version = parseVersion(said)
  if (version === undefined) return { reason: 'it does not say its version.' }
  if (isOlder(version, MINIMUM)) return { reason: `${version.join('.')} is too old.` }
  const folder = await mkdtemp(join(tmpdir(), 'chirality-nats-'))
  try {
    const file = join(folder, 'test.conf')
    await writeFile(file, 'jetstream { store_dir: "x", sync_interval: always }\n')
    await run(path, ['-t', '-c', file])
    return { version: version.join('.') }
  } catch {
    return { reason: 'it cannot write each message to the disk before it acknowledges it.' }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export function parseVersion(text: string): number[] | undefined {
  const [, ...parts] = /v?(\d+)\.(\d+)\.(\d+)/.exec(text) ?? []
  return parts.length === 3 ? parts.map(Number) : undefined
}

export function isOlder(version: readonly number[], than: readonly number[]): boolean {
  for (const [i, part] of than.entries()) {
    const own = version[i] ?? 0
    if (own !== part) return own < part
  }
  return false
}

/**
 * The distribution's own package, without root: `apt-get download` checks it by the signed metadata, `dpkg-deb` takes
 * the program out. Debian 12 has a version that is too old, so the suite after it is asked, too, with Debian's own key.
 */
async function fetchPackage(target: string): Promise<void> {
  if (!existsSync('/usr/bin/apt-get') || !existsSync('/usr/bin/dpkg-deb'))
    throw new Error('It can be fetched only on Debian and Ubuntu.')
  const folder = await mkdtemp(join(tmpdir(), 'chirality-apt-'))
  try {
    for (const source of await packageSources()) {
      const options = await aptOptions(folder, source)
      const isThere = await run('/usr/bin/apt-get', [...options, 'update'], folder)
        .then(() => run('/usr/bin/apt-get', [...options, 'download', 'nats-server'], folder))
        .then(
          () => true,
          () => false,
        )
      const deb = isThere ? (await readdir(folder)).find(name => name.endsWith('.deb')) : undefined
      if (deb === undefined) continue
      await run('/usr/bin/dpkg-deb', ['-x', join(folder, deb), join(folder, 'out')])
      await rm(join(folder, deb))
      const program = ['usr/sbin', 'usr/bin']
        .map(place => join(folder, 'out', place, 'nats-server'))
        .find(isProgram)
      if (program === undefined || !('version' in (await judge(program)))) continue
      await mkdir(join(target, '..'), { recursive: true, mode: 0o700 })
      await writeFile(`${target}.new`, await readFile(program), { mode: 0o700 })
      await rename(`${target}.new`, target)
      return
    }
    throw new Error('The distribution has no nats-server that is new enough.')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface PackageSource {
  uri: string
  suite: string
  component: string
  keyring: string
}

/** The machine's own suite first. The address is the one that the machine is set up with. */
async function packageSources(): Promise<PackageSource[]> {
  const format = '$(REPO_URI)|$(RELEASE)|$(ORIGIN)'
  const listed = await run('/usr/bin/apt-get', ['indextargets', '--format', format, 'Identifier: Packages'])
  const rows = listed.split('\n').map(line => line.split('|'))
  const keyrings = '/usr/share/keyrings'
  const debian = rows.find(([uri = '', , origin]) => origin === 'Debian' && !uri.includes('security'))
  const ubuntu = rows.find(([, , origin]) => origin === 'Ubuntu')
  if (debian !== undefined) {
    const [uri = '', suite = ''] = debian
    const keyring = `${keyrings}/debian-archive-keyring.gpg`
    return [...new Set([suite, 'trixie'])].map(one => ({ uri, suite: one, component: 'main', keyring }))
  }
  if (ubuntu === undefined) throw new Error('apt names no source of Debian or Ubuntu.')
  const [uri = '', suite = ''] = ubuntu
  return [{ uri, suite, component: 'universe', keyring: `${keyrings}/ubuntu-archive-keyring.gpg` }]
}

async function aptOptions(folder: string, source: PackageSource): Promise<string[]> {
  const state = join(folder, `state-${source.suite}`)
  await mkdir(join(state, 'lists', 'partial'), { recursive: true })
  await mkdir(join(folder, 'cache', 'archives', 'partial'), { recursive: true })
  await writeFile(join(state, 'status'), '')
  const list = join(folder, `${source.suite}.sources`)
  await writeFile(
    list,
    `Types: deb\nURIs: ${source.uri}\nSuites: ${source.suite}\nComponents: ${source.component}\nSigned-By: ${source.keyring}\n`,
  )
  return [
    ...[`Dir::State=${state}`, `Dir::State::status=${join(state, 'status')}`],
    ...[`Dir::Cache=${join(folder, 'cache')}`, `Dir::Etc::sourcelist=${list}`],
    ...['Dir::Etc::sourceparts=/dev/null', 'APT::Sandbox::User=', 'Acquire::Languages=none'],
  ].flatMap(option => ['-o', option])
}

function run(program: string, args: string[], cwd?: string): Promise<string> {
  const env = { ...buildChildEnv({ source: processEnv() }).env }
  return new Promise((resolve, reject) => {
    execFile(program, args, { env, cwd, timeout: RUN_MS }, (error, stdout, stderr) =>
      error === null ? resolve(`${stdout}${stderr}`) : reject(error),
    )
  })
}

const RUN_MS = 180_000
