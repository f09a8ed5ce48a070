import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ensurePrivateDirectory, errnoOf, toStorageError } from '@chirality/disk'
import { SpoolError, toSpoolError } from './spool-error.ts'

/**
 * The folder of the agents' raw logs. `off` keeps a log only while its agent runs, in the temporary folder, because an
 * agent always prints to a file. A path is created as needed, with one subfolder for each harness. Default:
 * `.chirality/logs` of the project.
 */
export type RawLogs = 'off' | { folder: string }

/** The log folder of a harness, created as needed, ignored by git and closed to other users. */
export async function ensureLogDirectory(
  projectRoot: string,
  harness: string,
  elsewhere?: string,
): Promise<string> {
  await requireProject(projectRoot)
  try {
    if (elsewhere === undefined) return await ensureChiralityFolder(projectRoot, 'logs', harness)
    await mkdir(elsewhere, { recursive: true, mode: 0o700 })
    const directory = join(elsewhere, harness)
    await ensurePrivateDirectory(directory)
    return directory
  } catch (error) {
    throw toSpoolError(error, elsewhere ?? projectRoot)
  }
}

async function requireProject(projectRoot: string): Promise<void> {
  const stats = await stat(projectRoot).catch((error: unknown) => {
    const code = errnoOf(error)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw toSpoolError(error, projectRoot)
    throw new SpoolError(
      'project-missing',
      projectRoot,
      `The project folder ${projectRoot} does not exist. Create it or choose another one.`,
      error,
    )
  })
  if (!stats.isDirectory()) {
    throw new SpoolError(
      'project-not-a-directory',
      projectRoot,
      `${projectRoot} is a file, not a project folder. Choose the folder that contains it.`,
    )
  }
}

/**
 * Creates `.chirality/<part>/…` of a project as needed: never through a symlink, accessible only to the owner, ignored
 * by git. Throws a StorageError.
 */
export async function ensureChiralityFolder(projectRoot: string, ...parts: string[]): Promise<string> {
  let folder = join(projectRoot, '.chirality')
  await ensurePrivateDirectory(folder)
  ignoreInGit(join(folder, '.gitignore'))
  for (const part of parts) {
    folder = join(folder, part)
    await ensurePrivateDirectory(folder)
  }
  return folder
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants

/** Keeps transcripts out of commits, and out of packages: `npm pack` reads this file too. */
function ignoreInGit(path: string): void {
  try {
    const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    writeSync(fd, '*\n')
    closeSync(fd)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw toStorageError(error, path)
  }
}
