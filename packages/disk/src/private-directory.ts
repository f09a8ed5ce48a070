import { chmodSync, lstatSync, mkdirSync, type Stats } from 'node:fs'
import { errnoOf } from './errno.ts'
import { StorageError, toStorageError } from './storage-error.ts'

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
    if (errnoOf(error) !== 'EEXIST') throw failure(error, path)
  }
  const stats = facts(path)
  if (stats.isSymbolicLink()) {
    const message = `${path} is a symbolic link. Remove it: Chirality writes only to real folders.`
    throw new StorageError('unsafe', path, message)
  }
  if (!stats.isDirectory()) {
    throw new StorageError(
      'unsafe',
      path,
      `${path} is not a folder. Move it away: Chirality keeps its files there.`,
    )
  }
  if (uid !== undefined && stats.uid !== uid) {
    throw new StorageError(
      'unsafe',
      path,
      `${path} belongs to another user (uid ${stats.uid}). Remove it or run as that user.`,
    )
  }
  if ((stats.mode & 0o077) === 0) return
  try {
    chmodSync(path, PRIVATE_DIRECTORY_MODE)
  } catch (error) {
    throw failure(error, path)
  }
}

function facts(path: string): Stats {
  try {
    return lstatSync(path)
  } catch (error) {
    throw failure(error, path)
  }
}

/** A missing parent is no missing file: only a caller that named a wrong place gets here. */
function failure(error: unknown, path: string): StorageError {
  if (errnoOf(error) !== 'ENOENT') return toStorageError(error, path)
  return new StorageError('io', path, `Cannot make ${path}: the folder above it is missing.`, error)
}
