import { lstatSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { errnoOf, messageOf } from '@chirality/disk'
import { PersonaError } from '../persona-error.ts'

/**
 * The real path of something in the project, or null when it is not there. Links are followed as long as they stay in
 * the project: a cloned repository can ship one that leads to any file of the user.
 */
export function insideProject(realRoot: string, relativePath: string): string | null {
  const target = path.join(realRoot, relativePath)
  let real: string
  try {
    real = realpathSync.native(target)
  } catch (error) {
    return notResolved(error, target, relativePath)
  }
  if (!isInside(realRoot, real)) throw leadsOut(relativePath)
  return real
}

/** Compares whole path components: `/p-evil` does not lie in `/p`. */
export function isInside(root: string, target: string): boolean {
  const relative = path.relative(root, target)
  return relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative)
}

export function leadsOut(relativePath: string): PersonaError {
  return new PersonaError('persona-unsafe', relativePath, {
    message: 'is a symbolic link out of the project. Replace it with the file or folder itself.',
  })
}

/** Resolved once, so that everything below is compared with where the project really is. */
export function realProjectRoot(projectRoot: string): string {
  try {
    const real = realpathSync.native(projectRoot)
    if (statSync(real).isDirectory()) return real
  } catch (error) {
    throw new PersonaError('persona-project-missing', projectRoot, {
      message: `is not a project folder that can be read (${errnoOf(error) ?? messageOf(error)}). Choose another.`,
    })
  }
  throw new PersonaError('persona-project-missing', projectRoot, {
    message: 'is a file, not a project folder. Choose the folder that contains it.',
  })
}

function notResolved(error: unknown, target: string, relativePath: string): null {
  const code = errnoOf(error)
  if (code === 'ENOENT') {
    if (isMissing(target)) return null
    throw new PersonaError('persona-unsafe', relativePath, {
      message: 'is a symbolic link to a file that does not exist. Remove it.',
    })
  }
  if (code === 'ELOOP') {
    throw new PersonaError('persona-unsafe', relativePath, {
      message: 'is a symbolic link to itself. Remove it.',
    })
  }
  throw new PersonaError('persona-unreadable', relativePath, {
    message: `cannot be read: ${messageOf(error)}`,
  })
}

function isMissing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined
  } catch {
    return true
  }
}
