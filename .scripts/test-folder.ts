import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import path from 'node:path'
import { systemBubblewrap } from './bubblewrap.mjs'

/**
 * Gives this process and those it starts a temporary folder of its own, which is removed when it ends. In memory if it
 * can be: tests make thousands of files that are synced to the disk, which takes milliseconds there and nothing in
 * memory.
 */
export function useTestFolder(): void {
  // Vitest loads the configuration of a package once for each of its projects.
  if (path.basename(process.env.TMPDIR ?? '').startsWith(`ct-${process.pid}-`)) return
  const parent = testParent()
  removeLeft(parent)
  // Short, because the paths of sockets have to be.
  const folder = mkdtempSync(path.join(parent, `ct-${process.pid}-`))
  process.env.TMPDIR = folder
  const bundles = path.join(folder, 'bundles')
  // In watch mode the sources change during a run.
  if (process.argv.includes('run')) {
    mkdirSync(bundles)
    process.env.CHIRALITY_TEST_BUNDLES = bundles
  }
  process.once('exit', () => {
    remove(bundles)
    const left = namesIn(folder)
    if (left.length > 0) process.stderr.write(`Left in the temporary folder: ${left.join(', ')}\n`)
    remove(folder)
  })
}

/**
 * The first folder in which nothing reaches a test from above: agents, git and npm read files of all parents of a
 * project. A `TMPDIR` that is set comes first.
 */
function testParent(): string {
  const { TMPDIR } = process.env
  const candidates = [TMPDIR, memoryFolder(), tmpdir(), '/tmp', '/var/tmp'].filter(folder => !!folder)
  const reached: string[] = []
  for (const folder of candidates as string[]) {
    if (!isWritable(folder)) continue
    const place = realpathSync(folder)
    const unfit = hidingProgram(place) ?? readFromAbove(place)
    if (unfit === undefined) {
      if (reached.length > 0)
        process.stderr.write(
          `Tests use ${folder}: the others are hidden or reached by ${reached.join(', ')}\n`,
        )
      return place
    }
    reached.push(unfit)
  }
  throw new Error(
    `Tests need a folder that nothing hides from an agent, and with nothing above that one reads. Set TMPDIR; found: ${reached.join(', ')}`,
  )
}

/** A bubblewrap of the system: Codex runs commands in that one, and it hides everything below /dev and /proc. */
function hidingProgram(folder: string): string | undefined {
  return /^\/(?:dev|proc)(?:\/|$)/.test(folder) ? systemBubblewrap() : undefined
}

/** What an agent, git or npm would find in a folder or its parents. */
const READ_FROM_ABOVE = [
  ...[
    '.git',
    '.claude',
    'CLAUDE.md',
    'CLAUDE.local.md',
    '.mcp.json',
    'AGENTS.md',
    '.codex',
    '.agents',
    '.chirality',
  ],
  ...['package.json', 'node_modules', 'pnpm-workspace.yaml', 'tsconfig.json'],
]

function readFromAbove(folder: string): string | undefined {
  const found = READ_FROM_ABOVE.map(name => path.join(folder, name)).find(hasContent)
  const parent = path.dirname(folder)
  return found ?? (parent === folder ? undefined : readFromAbove(parent))
}

/** Codex leaves empty folders with such names in the temporary folder. */
function hasContent(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false })
  return stats !== undefined && !(stats.isDirectory() && namesIn(file).length === 0)
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

const MEMORY = '/dev/shm'
/** All tests of a package together keep less than a tenth of it. */
const ENOUGH_BYTES = 4 * 1024 ** 3

/** None if it is too small, as in many containers, or if no program may run there: tests write such programs. */
function memoryFolder(): string | undefined {
  if (process.platform !== 'linux') return undefined
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map(line => line.split(' '))
      .findLast(([, folder]) => folder === MEMORY)
    const [, , type, options = ''] = mount ?? []
    if (type !== 'tmpfs' || options.split(',').some(option => option === 'noexec' || option === 'ro'))
      return undefined
    const { bavail, bsize } = statfsSync(MEMORY)
    return Math.min(bavail * bsize, freemem()) > ENOUGH_BYTES ? MEMORY : undefined
  } catch {
    return undefined
  }
}

/** Folders of processes that were killed: nothing else would give their space back. */
function removeLeft(parent: string): void {
  for (const name of namesIn(parent)) {
    const [, pid] = /^ct-(\d+)-/.exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid))) remove(path.join(parent, name))
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** One of another user stays. */
function remove(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  } catch {}
}
