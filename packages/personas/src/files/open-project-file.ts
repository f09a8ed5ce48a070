import { type BigIntStats, closeSync, constants, fstatSync, openSync } from 'node:fs'
import { PersonaError } from '../persona-error.ts'
import { errnoOf, messageOf } from './errno.ts'
import { insideProject, isInside, leadsOut } from './inside-project.ts'
import { openedPath } from './opened-path.ts'

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
    throw new PersonaError('unreadable', relativePath, { message: `cannot be read: ${messageOf(error)}` })
  }
  try {
    const stats = fstatSync(fd, { bigint: true })
    if (!stats.isFile()) {
      const kind = stats.isDirectory() ? 'a folder' : 'not a regular file'
      throw new PersonaError('wrong-kind', relativePath, { message: `is ${kind}. A text file is needed.` })
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
