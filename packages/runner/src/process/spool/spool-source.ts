import { closeSync, constants, fstatSync, openSync, readSync, unlinkSync, writeFileSync } from 'node:fs'
import { errnoOf } from '@chirality/disk'

/** The two files that an agent writes to, for their reader. */
export interface SpoolSource {
  readonly path: string
  readonly stderrPath: string
  readonly stdout: SpoolReadEnd
  /** Undefined if an earlier reader found it empty. */
  readonly stderr?: SpoolReadEnd
  /**
   * Closes everything. An empty stderr file is removed; a file that was deleted meanwhile is written again from the
   * open file descriptor, because the raw log must never be lost.
   */
  close(): Promise<void>
}

export interface SpoolReadEnd {
  readonly path: string
  readonly readFd: number
}

/** Removes an empty stderr file, and writes deleted files again from their open descriptors. */
export async function settleSpool(
  { stdout, stderr }: Pick<SpoolSource, 'stdout' | 'stderr'>,
  ensureDirectory: () => Promise<unknown>,
): Promise<void> {
  if (stderr && fstatSync(stderr.readFd).size === 0) tidy(stderr.path)
  await restoreDeleted(stderr ? [stdout, stderr] : [stdout], ensureDirectory)
}

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}

/** A failure to remove an empty file must not fail the turn. */
function tidy(file: string): void {
  try {
    removeIfThere(file)
  } catch {
    // The agent moved the folder or removed its permissions.
  }
}

async function restoreDeleted(files: SpoolReadEnd[], ensureDirectory: () => Promise<unknown>): Promise<void> {
  const deleted = files.filter(file => {
    const { size, nlink } = fstatSync(file.readFd)
    return nlink === 0 && size > 0
  })
  if (deleted.length === 0) return
  try {
    await ensureDirectory()
    for (const file of deleted) copyBack(file)
  } catch {
    // The project folder is gone too. The reader has already been told that the log was deleted.
  }
}

function copyBack({ path, readFd }: SpoolReadEnd): void {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, PRIVATE_FILE_MODE)
  const buffer = Buffer.allocUnsafe(COPY_BYTES)
  try {
    let offset = 0
    for (let bytes = readSync(readFd, buffer, 0, COPY_BYTES, 0); bytes > 0; ) {
      writeFileSync(fd, buffer.subarray(0, bytes))
      offset += bytes
      bytes = readSync(readFd, buffer, 0, COPY_BYTES, offset)
    }
  } finally {
    closeSync(fd)
  }
}

const PRIVATE_FILE_MODE = 0o600
const COPY_BYTES = 256 * 1024
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
