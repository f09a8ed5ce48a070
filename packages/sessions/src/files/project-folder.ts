import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, StorageError, toStorageError } from '@chirality/disk'
import { ensureChiralityFolder } from '@chirality/runner'

export const CHIRALITY_FOLDER = '.chirality'

/**
 * Creates `.chirality/<part>/…` of a project as needed: never through a symlink, accessible only to the owner, ignored
 * by git.
 */
export async function ensureProjectFolder(projectRoot: string, ...parts: string[]): Promise<string> {
  try {
    return await ensureChiralityFolder(realProjectRoot(projectRoot), ...parts)
  } catch (error) {
    throw toStorageError(error, projectRoot)
  }
}

/** The same folder for reading: undefined when it is missing; throws when a symlink leads out of the project. */
export async function findProjectFolder(
  projectRoot: string,
  ...parts: string[]
): Promise<string | undefined> {
  let folder = realProjectRoot(projectRoot)
  for (const part of [CHIRALITY_FOLDER, ...parts]) {
    folder = join(folder, part)
    const stats = factsOf(folder)
    if (stats === undefined) return undefined
    if (!stats.isDirectory()) {
      throw new StorageError('unsafe', folder, `${folder} is not a real folder. Remove it.`)
    }
  }
  return folder
}

function factsOf(folder: string): Stats | undefined {
  try {
    return lstatSync(folder, { throwIfNoEntry: false })
  } catch (error) {
    throw toStorageError(error, folder)
  }
}

/** The resolved path, so that a project has one name. */
export function realProjectRoot(projectRoot: string): string {
  try {
    const root = realpathSync(projectRoot)
    if (statSync(root).isDirectory()) return root
  } catch (error) {
    const code = errnoOf(error)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw toStorageError(error, projectRoot)
    const message = `The project folder ${projectRoot} does not exist. Create it or choose another one.`
    throw new StorageError('project-missing', projectRoot, message, error)
  }
  const message = `${projectRoot} is a file, not a project folder. Choose the folder that contains it.`
  throw new StorageError('project-not-a-directory', projectRoot, message)
}
