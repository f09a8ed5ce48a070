import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { errnoOf, messageOf } from '@chirality/disk'
import { PersonaError } from '../persona-error.ts'
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
    // A socket, or a device that is not there.
    if (errnoOf(error) === 'ENXIO') throw wrongKind(relativePath, 'not a regular file')
    throw new PersonaError('persona-unreadable', relativePath, {
      message: `cannot be read: ${messageOf(error)}`,
    })
  }
  try {
    const stats = fstatSync(fd, { bigint: true })
    if (!stats.isFile())
      throw wrongKind(relativePath, stats.isDirectory() ? 'a folder' : 'not a regular file')
    if (!isInside(realRoot, openedPath(fd, real))) throw leadsOut(relativePath)
    return { fd, stats }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

function wrongKind(relativePath: string, kind: string): PersonaError {
  return new PersonaError('persona-wrong-kind', relativePath, {
    message: `is ${kind}. Replace it with a text file.`,
  })
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
