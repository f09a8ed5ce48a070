import { existsSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { HarnessNotInstalledError } from '@chirality/core'
import {
  checkExecutable,
  findPackage,
  notCounted,
  resolveExecutable,
} from '../../process/program/resolve-executable.ts'
import { CODEX_ID } from '../descriptor.ts'

const BINARY_VARIABLE = 'CHIRALITY_CODEX_BIN'

export const INSTALL_INSTRUCTIONS = `Install it with \`npm install -g @openai/codex\`, or set ${BINARY_VARIABLE} to the binary.`

export interface FindCodexOptions {
  /** An explicit path: no other place is searched. */
  binaryPath?: string
  environment: Record<string, string>
}

/**
 * The native `codex`: the explicit path, else PATH and the usual install folders, else the one inside the npm package.
 */
export async function findCodex(options: FindCodexOptions): Promise<string> {
  const named = options.binaryPath ?? options.environment[BINARY_VARIABLE]
  if (named) {
    const check = await checkExecutable(named)
    if (!check.ok) throw new HarnessNotInstalledError(CODEX_ID, `${check.message} ${INSTALL_INSTRUCTIONS}`)
    return nativeBehind(path.resolve(named))
  }
  // PATH and HOME of the agent's environment: an isolated harness must not find the agent of this user.
  const { PATH = '', HOME = NOWHERE } = options.environment
  const found = await resolveExecutable('codex', [], { path: PATH, home: HOME })
  const binary = found ? nativeBehind(found) : packagedCodex(import.meta.url)
  if (!binary) {
    const instructions = INSTALL_INSTRUCTIONS + notCounted(BINARY_VARIABLE, options.environment)
    throw new HarnessNotInstalledError(CODEX_ID, instructions)
  }
  return binary
}

const NOWHERE = '/nonexistent'

/** npm installs a script that starts the binary; if the script is killed with SIGKILL, the binary goes on running. */
function nativeBehind(found: string): string {
  const real = realpathSync(found)
  return real.endsWith('.js') ? (nativeBinary(path.dirname(path.dirname(real))) ?? found) : found
}

function packagedCodex(from: string): string | undefined {
  const owner = findPackage(from, '@openai/codex')
  return owner && nativeBinary(owner)
}

/** Since 0.100 in a package for the platform; before that in the package itself, with all platforms. */
function nativeBinary(owner: string): string | undefined {
  const triple = TRIPLES[`${process.platform}-${process.arch}`]
  if (!triple) return undefined
  const name = `@openai/codex-${process.platform}-${process.arch}`
  const folders = [owner, findPackage(path.join(owner, 'package.json'), name)]
  return folders
    .flatMap(folder => (folder ? PLACES.map(place => path.join(folder, 'vendor', triple, place)) : []))
    .find(existsSync)
}

/** The second path is used up to 0.130. */
const PLACES = [path.join('bin', 'codex'), path.join('codex', 'codex')]

const TRIPLES: Record<string, string> = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-x64': 'x86_64-apple-darwin',
  'darwin-arm64': 'aarch64-apple-darwin',
}
