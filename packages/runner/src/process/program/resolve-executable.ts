import { existsSync, realpathSync } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import path, { delimiter, isAbsolute, join, resolve } from 'node:path'
import { processEnv } from '../system/process-env.ts'

/**
 * The absolute path of a program: PATH first, then `extraPaths` (folders), then the usual install folders. `path` and
 * `home` default to those of this process.
 */
export async function resolveExecutable(
  name: string,
  extraPaths: string[] = [],
  options: { path?: string; home?: string } = {},
): Promise<string | undefined> {
  if (name === '') return undefined
  if (name.includes('/')) {
    const path = resolve(expandHome(name, options.home))
    return (await checkExecutable(path)).ok ? path : undefined
  }
  const path = options.path ?? processEnv().PATH ?? ''
  for (const folder of [...path.split(delimiter), ...extraPaths, ...INSTALL_FOLDERS]) {
    const expanded = expandHome(folder, options.home)
    // An empty or relative entry means the current folder: a cloned project must not provide the agent's binary.
    if (!isAbsolute(expanded)) continue
    const candidate = join(expanded, name)
    if ((await checkExecutable(candidate)).ok) return candidate
  }
  return undefined
}

export type ExecutableCheck =
  | { ok: true }
  | { ok: false; reason: 'missing' | 'not-a-file' | 'not-executable'; message: string }

export async function checkExecutable(path: string): Promise<ExecutableCheck> {
  const stats = await stat(path).catch(() => undefined)
  if (stats === undefined) {
    return {
      ok: false,
      reason: 'missing',
      message: `${path} does not exist. Install it or correct the path.`,
    }
  }
  if (!stats.isFile()) {
    return {
      ok: false,
      reason: 'not-a-file',
      message: `${path} is not a file. Give the path of the program itself.`,
    }
  }
  const executable = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
  if (executable) return { ok: true }
  return {
    ok: false,
    reason: 'not-executable',
    message: `${path} is not executable. Run: chmod +x '${path}'`,
  }
}

const INSTALL_FOLDERS = [
  '~/.local/bin',
  '~/.claude/local',
  '~/.npm-global/bin',
  '~/.bun/bin',
  '~/.volta/bin',
  '~/.local/share/pnpm',
  '~/Library/pnpm',
  '/usr/local/bin',
  '/opt/homebrew/bin',
  '/home/linuxbrew/.linuxbrew/bin',
  '/usr/bin',
]

function expandHome(path: string, home = homedir()): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path
}

/**
 * The real folder of an installed package, resolved from a file. Written by hand, because the agents' packages hide
 * their package.json behind `exports`; the real path, because a linked package's own dependencies are beside it.
 */
export function findPackage(from: string, name: string): string | undefined {
  const bases = createRequire(from).resolve.paths(name) ?? []
  const folder = bases.map(base => path.join(base, name)).find(candidate => existsSync(candidate))
  return folder && realpathSync(folder)
}

/** The command that starts the program in a terminal with this PATH: its name if PATH finds it, else its whole path. */
export async function asTyped(name: string, binary: string, path = ''): Promise<string> {
  for (const folder of path.split(delimiter))
    if (isAbsolute(folder) && (await checkExecutable(join(folder, name))).ok) return name
  return /^[\w@%+=:,./-]+$/.test(binary) ? binary : `'${binary.replaceAll("'", "'\\''")}'`
}

/**
 * What the advice to set a variable lacks for who has set it: a harness with an environment of its own does not look at
 * that of this process.
 */
export function notCounted(variable: string, environment: Record<string, string>): string {
  if (environment[variable] || !processEnv()[variable]) return ''
  return ` ${variable} of this process does not count: the harness was given an \`environment\`. Set it there, or give \`binaryPath\`.`
}
