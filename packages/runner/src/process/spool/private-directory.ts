import { chmodSync, lstatSync, mkdirSync, type Stats } from 'node:fs'
import { errnoOf } from '../../common/errno.ts'
import { SpoolError, toSpoolError, unsafeSymlink } from './spool-error.ts'

const PRIVATE_DIRECTORY_MODE = 0o700

/**
 * Makes `path` a real directory that only `uid` can enter. A cloned repository can contain a symlink at this path, and
 * a write through it would change any file of the user. Synchronous: the thread pool costs more than the call itself,
 * and the start of a turn makes a dozen of them.
 */
export async function ensurePrivateDirectory(path: string, uid = process.geteuid?.()): Promise<void> {
  try {
    mkdirSync(path, { mode: PRIVATE_DIRECTORY_MODE })
    return
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw toSpoolError(error, path)
  }
  const stats = facts(path)
  if (stats.isSymbolicLink()) throw unsafeSymlink(path)
  if (!stats.isDirectory()) {
    throw new SpoolError(
      'unsafe',
      path,
      `${path} is not a folder. Move it away: Chirality keeps its logs there.`,
    )
  }
  if (uid !== undefined && stats.uid !== uid) {
    throw new SpoolError(
      'unsafe',
      path,
      `${path} belongs to another user (uid ${stats.uid}). Remove it or run as that user.`,
    )
  }
  if ((stats.mode & 0o077) === 0) return
  try {
    chmodSync(path, PRIVATE_DIRECTORY_MODE)
  } catch (error) {
    throw toSpoolError(error, path)
  }
}

function facts(path: string): Stats {
  try {
    return lstatSync(path)
  } catch (error) {
    throw toSpoolError(error, path)
  }
}
