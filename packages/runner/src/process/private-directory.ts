import { chmod, lstat, mkdir } from 'node:fs/promises'
import { errnoOf, SpoolError, toSpoolError, unsafeSymlink } from './spool-error.ts'

const PRIVATE_DIRECTORY_MODE = 0o700

/**
 * Makes `path` a real directory that only `uid` can enter. A cloned repository can ship a symlink in its place, and
 * writing through that would land in any file of the user.
 */
export async function ensurePrivateDirectory(path: string, uid = process.geteuid?.()): Promise<void> {
  try {
    await mkdir(path, { mode: PRIVATE_DIRECTORY_MODE })
    return
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw toSpoolError(error, path)
  }
  const stats = await lstat(path).catch((error: unknown) => Promise.reject(toSpoolError(error, path)))
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
  await chmod(path, PRIVATE_DIRECTORY_MODE).catch((error: unknown) =>
    Promise.reject(toSpoolError(error, path)),
  )
}
