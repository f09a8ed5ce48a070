import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { PersonaError } from '../persona-error.ts'
import { errnoOf, messageOf } from './errno.ts'
import { insideProject, isInside, leadsOut } from './inside-project.ts'

export interface OpenProjectFile {
  fd: number
  stats: BigIntStats
}

/** Opens a regular file of the project for reading. Null when it is not there; throws a PersonaError otherwise. */
export function openProjectFile(realRoot: string, relativePath: string): OpenProjectFile | null {
  const real = insideProject(realRoot, relativePath)
  if (real === null) return null
  let fd: number
  try {
    fd = openSync(real, FLAGS)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw new PersonaError('persona-unreadable', relativePath, {
      message: `cannot be read: ${messageOf(error)}`,
    })
  }
  try {
    const stats = fstatSync(fd, { bigint: true })
    if (!stats.isFile()) {
      const kind = stats.isDirectory() ? 'a folder' : 'not a regular file'
      throw new PersonaError('persona-wrong-kind', relativePath, {
        message: `is ${kind}. Replace it with a text file.`,
      })
    }
    if (!isInside(realRoot, openedPath(fd, real))) throw leadsOut(relativePath)
    return { fd, stats }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** Without O_NONBLOCK a FIFO in the place of a file would be waited for until someone writes to it. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Where an open file really is. A path that was checked before it was opened proves nothing: a folder on the way may
 * have become a link in between. Linux knows the answer; elsewhere the path is asked a second time.
 */
export function openedPath(fd: number, path: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return realpathSync.native(path)
  }
}
