import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises'
import { PersonaError } from '../persona-error.ts'
import { errnoOf, messageOf } from './errno.ts'
import { insideProject } from './inside-project.ts'

export interface OpenProjectFile {
  handle: FileHandle
  stats: BigIntStats
}

/** Opens a regular file of the project for reading. Null when it is not there; throws a PersonaError otherwise. */
export async function openProjectFile(
  realRoot: string,
  relativePath: string,
): Promise<OpenProjectFile | null> {
  const real = await insideProject(realRoot, relativePath)
  if (real === null) return null
  let handle: FileHandle
  try {
    handle = await open(real, FLAGS)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw new PersonaError('unreadable', relativePath, { message: `cannot be read: ${messageOf(error)}` })
  }
  try {
    const stats = await handle.stat({ bigint: true })
    if (!stats.isFile()) {
      const kind = stats.isDirectory() ? 'a folder' : 'not a regular file'
      throw new PersonaError('wrong-kind', relativePath, { message: `is ${kind}. A text file is needed.` })
    }
    if (!(await isSameFile(real, stats))) {
      throw new PersonaError('unsafe', relativePath, {
        message: 'was replaced while it was opened. Try again.',
      })
    }
    return { handle, stats }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Without O_NONBLOCK a FIFO in the place of a file would be waited for until someone writes to it. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** False when a folder on the way was swapped for a link after the path was checked. */
async function isSameFile(real: string, opened: BigIntStats): Promise<boolean> {
  try {
    const now = await lstat(real, { bigint: true })
    return now.ino === opened.ino && now.dev === opened.dev && (await realpath(real)) === real
  } catch {
    return false
  }
}
