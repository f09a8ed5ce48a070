import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import path from 'node:path'

const MEMORY = '/dev/shm'
/** All tests of a package together keep less than a tenth of it. */
const ENOUGH_BYTES = 4 * 1024 ** 3

/**
 * Gives this process and those it starts a temporary folder in memory, which is removed when it ends. Tests make
 * thousands of files that are synced to the disk: there a sync takes milliseconds, in memory nothing. A `TMPDIR` that
 * is set is kept, and so is the system's where there is no such file system.
 */
export function useMemoryFolder(): void {
  if (process.env.TMPDIR || !hasMemoryFolder()) return
  removeLeft()
  // Short, because the paths of sockets have to be.
  const folder = mkdtempSync(path.join(MEMORY, `ct-${process.pid}-`))
  process.env.TMPDIR = folder
  process.once('exit', () => {
    const left = namesIn(folder)
    if (left.length > 0) process.stderr.write(`Left in the temporary folder: ${left.join(', ')}\n`)
    remove(folder)
  })
}

/** Folders of processes that were killed: nothing else would give their memory back. */
function removeLeft(): void {
  for (const name of namesIn(MEMORY)) {
    const [, pid] = /^ct-(\d+)-/.exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid))) remove(path.join(MEMORY, name))
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

/** False for one that is too small, as in many containers, or where no program may run: tests write such programs. */
function hasMemoryFolder(): boolean {
  if (process.platform !== 'linux') return false
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map(line => line.split(' '))
      .findLast(([, folder]) => folder === MEMORY)
    const [, , type, options = ''] = mount ?? []
    if (type !== 'tmpfs' || options.split(',').some(option => option === 'noexec' || option === 'ro'))
      return false
    const { bavail, bsize } = statfsSync(MEMORY)
    return Math.min(bavail * bsize, freemem()) > ENOUGH_BYTES
  } catch {
    return false
  }
}
