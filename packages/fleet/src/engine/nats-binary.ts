import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { processEnv } from '@chirality/runner'
import { fleetError } from '../fleet-error.ts'
import { fetchProgram, isProgram, keepProgram, runTool } from './distribution.ts'
import { type GivenProgram, readGiven } from './given-program.ts'

export interface FindNatsOptions {
  /** The user's data folder. A fetched program is kept in `fleet/bin`. */
  home: string
  /** Fetches the distribution's package if no suitable program is installed. */
  fetch?: boolean
  env?: Record<string, string>
  onProgress?: (text: string) => void
}

export interface NatsBinary {
  path: string
  version: string
}

/** Finds a `nats-server` that can do what a fleet needs. Throws `fleet-no-broker` with each reason and the way out. */
export async function findNatsServer(options: FindNatsOptions): Promise<NatsBinary> {
  const { home, fetch = false, env = processEnv(), onProgress = () => {} } = options
  const named = env[BIN_VARIABLE]
  const kept = join(home, 'fleet', 'bin', 'nats-server')
  const candidates = named ? [named] : [givenPath(home), ...onPath(env.PATH), kept]
  const reasons: string[] = []
  for (const path of candidates.filter(path => named !== undefined || isProgram(path))) {
    const found = await judge(path)
    if ('version' in found) return { path, version: found.version }
    reasons.push(`${path}: ${found.reason}`)
  }
  if (fetch && named === undefined) {
    try {
      onProgress('Fetching nats-server from the distribution.')
      await fetchProgram(
        { name: 'nats-server', target: kept },
        async path => 'version' in (await judge(path)),
      )
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
    `There is no suitable nats-server here.${seen} It has to be ${MINIMUM.join('.')} or later. ${wayOut()}`,
  )
}

/**
 * Instructions for an official release. The program is not downloaded by itself, because the sums of releases are not
 * known here.
 */
function wayOut(): string {
  const system = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`
  const page = `https://github.com/nats-io/nats-server/releases/tag/v${TESTED}`
  return `Download nats-server-v${TESTED}-${system}.tar.gz and SHA256SUMS from ${page}, and run \`chirality fleet init --nats FILE --sha256 SUM\` with the sum of that line; or name an installed program with ${BIN_VARIABLE}.`
}

/**
 * Installs the program that the user gave, after its sum was checked. It has precedence over those on PATH. Throws if
 * it does not suit, and keeps the one before.
 */
export async function installNatsServer(home: string, given: GivenProgram): Promise<NatsBinary> {
  const bytes = await readGiven(given, 'nats-server')
  const path = givenPath(home)
  const trial = `${path}-trial`
  await keepProgram(bytes, trial)
  try {
    const found = await judge(trial)
    if ('reason' in found)
      throw fleetError('fleet-no-broker', `${given.from} is no suitable nats-server: ${found.reason}`)
    await rename(trial, path)
    return { path, version: found.version }
  } finally {
    await rm(trial, { force: true })
  }
}

function givenPath(home: string): string {
  return join(home, 'fleet', 'bin', 'given', 'nats-server')
}

export const BIN_VARIABLE = 'CHIRALITY_NATS_BIN'
/** In older releases a crash of the process could lose whole streams. */
const MINIMUM = [2, 10, 23] as const
/** The release that the tests run. */
const TESTED = '2.10.27'

function onPath(path = ''): string[] {
  return [...path.split(delimiter).filter(Boolean), '/usr/sbin', '/usr/local/bin'].map(folder =>
    join(folder, 'nats-server'),
  )
}

/** Judges a program by its version and by whether it accepts the configuration of a fleet. */
async function judge(path: string): Promise<{ version: string } | { reason: string }> {
  const said = await runTool(path, ['--version']).catch((error: Error) => error)
  if (said instanceof Error) return { reason: `it cannot be run (${said.message.split('\n')[0]}).` }
  const version = parseVersion(said)
  if (version === undefined) return { reason: 'it does not say its version.' }
  if (isOlder(version, MINIMUM)) return { reason: `${version.join('.')} is too old.` }
  const folder = await mkdtemp(join(tmpdir(), 'chirality-nats-'))
  try {
    const file = join(folder, 'test.conf')
    await writeFile(file, 'jetstream { store_dir: "x", sync_interval: always }\n')
    await runTool(path, ['-t', '-c', file])
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
