import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { dirname, join } from 'node:path'
import { CodedError } from '@chirality/core'
import { errnoOf } from './errno.ts'
import { type FileOps, realFileOps } from './file-ops.ts'
import { OPEN, openedPath, writeAll } from './read-write.ts'
import { StorageError, toStorageError } from './storage-error.ts'

export interface AtomicWriteOptions {
  ops?: FileOps
  /** 0600 if it is not given. `umask`: as any program of the user makes a file. */
  mode?: number | 'umask'
  /** Set as the file's modification time, so that files can be sorted without reading them. */
  modifiedAt?: Date
  /**
   * The harm that a finished write outlives. `power-loss`, the default, flushes the file and its folder. `kill` flushes
   * nothing, for data that a power failure makes void anyway: a killed process leaves the old or the new text all the same.
   */
  survives?: 'power-loss' | 'kill'
  /** The name of the file until it is whole, in the same file system. One beside it, which `sweepTemporaries` removes. */
  temporary?: string
  /** A real folder. Throws where the file would be written elsewhere: a folder on the way may have become a link. */
  inside?: string
  /** Runs when all is written, right before the file gets its name. If it throws, the file stays as it was. */
  check?: () => void | Promise<void>
}

/** For callers that cannot wait: nothing here is asynchronous. */
export type WriteNowOptions = Omit<AtomicWriteOptions, 'check'> & { check?: () => void }

/**
 * Replaces `path` atomically: after a crash it holds the old or the new text. A symlink is replaced, not followed.
 * Errors of the disk are StorageErrors.
 */
export function writeFileAtomic(
  path: string,
  content: string | Uint8Array,
  options: AtomicWriteOptions = {},
): Promise<void> {
  const { ops = realFileOps } = options
  return fillFileAtomic(path, fd => writeAll(ops, fd, Buffer.from(content)), options)
}

/** The same for content that is written piece by piece. */
export async function fillFileAtomic(
  path: string,
  fill: (fd: number) => void | Promise<void>,
  options: AtomicWriteOptions = {},
): Promise<void> {
  const { ops = realFileOps, survives = 'power-loss', temporary = temporaryName(path) } = options
  try {
    const fd = openNew(temporary, options)
    try {
      try {
        requireInside(fd, temporary, options)
        await fill(fd)
        setFacts(fd, options)
        if (survives === 'power-loss') await ops.sync(fd)
      } finally {
        ops.close(fd)
      }
      await options.check?.()
      ops.rename(temporary, path)
    } catch (error) {
      removeIfThere(ops, temporary)
      throw error
    }
    if (survives === 'power-loss') await syncFolder(ops, dirname(path))
  } catch (error) {
    throw failure(error, path)
  }
}

/** What `fill` and `check` throw stays what it is. */
function failure(error: unknown, path: string): unknown {
  const isOfSystem = !(error instanceof CodedError) && /^E[A-Z]/.test(errnoOf(error) ?? '')
  return isOfSystem ? toStorageError(error, path) : error
}

/** `writeFileAtomic` for callers that cannot wait. */
export function writeFileNow(
  path: string,
  content: string | Uint8Array,
  options: WriteNowOptions = {},
): void {
  try {
    placeNow(path, content, options, temporary => (options.ops ?? realFileOps).rename(temporary, path))
  } catch (error) {
    throw failure(error, path)
  }
}

/** Makes the file as a whole; false, and nothing done, if something is there. */
export function createFileNow(
  path: string,
  content: string | Uint8Array,
  options: WriteNowOptions = {},
): boolean {
  const { ops = realFileOps } = options
  try {
    placeNow(path, content, options, temporary => {
      ops.link(temporary, path)
      ops.unlink(temporary)
    })
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    if (!NO_HARD_LINKS.has(errnoOf(error) ?? '')) throw failure(error, path)
  }
  // A file system without links: a reader may see a part of it, but nobody's file is replaced.
  try {
    fillNow(openNew(path, options), content, path, options)
    return true
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw failure(error, path)
  }
}

const NO_HARD_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

function placeNow(
  path: string,
  content: string | Uint8Array,
  options: WriteNowOptions,
  place: (temporary: string) => void,
): void {
  const { ops = realFileOps, survives = 'power-loss', temporary = temporaryName(path) } = options
  const fd = openNew(temporary, options)
  try {
    fillNow(fd, content, temporary, options)
    options.check?.()
    place(temporary)
  } catch (error) {
    removeIfThere(ops, temporary)
    throw error
  }
  if (survives === 'power-loss') syncFolderNow(ops, dirname(path))
}

function openNew(temporary: string, { ops = realFileOps, mode }: AtomicWriteOptions): number {
  return ops.open(temporary, OPEN.create, mode === 'umask' ? 0o666 : undefined)
}

function fillNow(
  fd: number,
  content: string | Uint8Array,
  temporary: string,
  options: WriteNowOptions,
): void {
  const { ops = realFileOps, survives = 'power-loss' } = options
  try {
    requireInside(fd, temporary, options)
    writeAll(ops, fd, Buffer.from(content))
    setFacts(fd, options)
    if (survives === 'power-loss') ops.syncNow(fd)
  } finally {
    ops.close(fd)
  }
}

function requireInside(fd: number, temporary: string, { inside }: AtomicWriteOptions): void {
  if (inside === undefined) return
  const where = openedPath(fd, temporary)
  if (where.startsWith(inside.endsWith('/') ? inside : `${inside}/`)) return
  throw new StorageError(
    'unsafe',
    temporary,
    `${dirname(temporary)} leads out of ${inside}. Remove the link.`,
  )
}

function setFacts(fd: number, { ops = realFileOps, mode, modifiedAt }: AtomicWriteOptions): void {
  if (typeof mode === 'number') ops.chmod(fd, mode)
  if (modifiedAt !== undefined) ops.setModified(fd, modifiedAt)
}

/** Moves what is at the path out of the way: a file that is damaged, or that says something else. Returns its new name. */
export function setAside(path: string, why: string, ops: FileOps = realFileOps): string {
  const aside = `${path}.${why}-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`
  ops.rename(path, aside)
  return aside
}

/**
 * A temporary name beside the file, with the writer's process id: another process can tell whether it is still being
 * written.
 */
export function temporaryName(path: string): string {
  const pid = process.pid.toString(16).padStart(PID_DIGITS, '0')
  return `${path}.tmp-${pid}${randomBytes(6).toString('hex')}`
}

const PID_DIGITS = 8

/** Includes the writer's process id in hexadecimal. */
export const TEMPORARY_NAME = /\.tmp-([0-9a-f]{8})?[0-9a-f]{12}$/

/** Makes creations, renames and removals in a folder survive a power failure. */
export async function syncFolder(ops: FileOps, folder: string): Promise<void> {
  const fd = ops.open(folder, FOLDER)
  try {
    await ops.sync(fd)
  } catch (error) {
    if (!CANNOT_SYNC.has(errnoOf(error))) throw error
  } finally {
    ops.close(fd)
  }
}

function syncFolderNow(ops: FileOps, folder: string): void {
  const fd = ops.open(folder, FOLDER)
  try {
    ops.syncNow(fd)
  } catch (error) {
    if (!CANNOT_SYNC.has(errnoOf(error))) throw error
  } finally {
    ops.close(fd)
  }
}

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY
/** Of some network and FUSE file systems, for a folder. */
const CANNOT_SYNC: ReadonlySet<string | undefined> = new Set(['EINVAL', 'ENOTSUP'])

export function removeIfThere(ops: FileOps, path: string): void {
  try {
    ops.unlink(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}

/** The first unused name of the form `<path>-<n>`. */
export function freeName(ops: FileOps, path: string): string {
  for (let n = 1; ; n += 1) {
    const name = `${path}-${n}`
    if (ops.lstat(name) === undefined) return name
  }
}

/** Removes the temporary files of killed processes from a folder of ours and its subfolders. */
export function sweepTemporaries(folder: string, ops: FileOps = realFileOps, depth = 0): void {
  for (const name of namesIn(folder, ops)) {
    // The name of a folder of ours has no dot. A project with many sessions has thousands of other files.
    if (name.includes('.') && !TEMPORARY_NAME.test(name)) continue
    const path = join(folder, name)
    const stats = ops.lstat(path)
    if (stats?.isDirectory() && depth < MAX_DEPTH && !LARGE.has(name)) sweepTemporaries(path, ops, depth + 1)
    if (stats?.isFile() && isLeft(name, stats.ctimeMs)) removeIfThere(ops, path)
  }
}

const MAX_DEPTH = 2
/** Skipped: no temporary files are written there. */
const LARGE = new Set(['logs', 'objects', 'demo'])
const OLD_MS = 60 * 60 * 1000

function isLeft(name: string, changedMs: number): boolean {
  const match = TEMPORARY_NAME.exec(name)
  if (match === null) return false
  const [, pid] = match
  if (pid === undefined) return Date.now() - changedMs > OLD_MS
  return !isAlive(Number.parseInt(pid, 16))
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return errnoOf(error) !== 'ESRCH'
  }
}

function namesIn(folder: string, ops: FileOps): string[] {
  try {
    return ops.readdir(folder)
  } catch {
    return []
  }
}
