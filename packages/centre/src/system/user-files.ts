import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import {
  changeFile,
  createFileNow,
  ensurePrivateDirectory,
  errnoOf,
  StorageError,
  type StorageErrorCode,
  writeFileAtomic,
} from '@chirality/disk'

/** Files in the user's data folder: consents that only the user may give, and secrets. */
export function writeUserFile(home: string, name: string, text: string): Promise<void> {
  return inUserFolder(home, name, file => writePrivateFile(file, text))
}

/** Creates the file; false if it exists. */
export function createUserFile(home: string, name: string, text: string): Promise<boolean> {
  return inUserFolder(home, name, async file => createFileNow(file, text))
}

/** For a change that reads the file and writes it anew: several servers of one user do so at the same moment. */
export function changeUserFile<T>(home: string, name: string, change: () => Promise<T>): Promise<T> {
  return inUserFolder(home, name, file => changeFile(file, change))
}

async function inUserFolder<T>(home: string, name: string, write: (file: string) => Promise<T>): Promise<T> {
  const file = path.join(home, name)
  try {
    await mkdir(path.dirname(home), { recursive: true })
    await ensurePrivateDirectory(home)
    if (path.dirname(file) !== home) await ensurePrivateDirectory(path.dirname(file))
    return await write(file)
  } catch (error) {
    throw toUserFileError(error, file)
  }
}

export async function removeUserFile(home: string, name: string): Promise<void> {
  const file = path.join(home, name)
  await rm(file, { force: true }).catch((error: unknown) => {
    throw toUserFileError(error, file)
  })
}

/** The names of the `.json` files in a folder of the data folder. */
export async function listUserFiles(home: string, folder: string): Promise<string[]> {
  const where = path.join(home, folder)
  try {
    return (await readdir(where)).filter(name => name.endsWith('.json'))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw toUserFileError(error, where)
  }
}

/**
 * Undefined if there is none. A file that other users can write is ignored. Synchronous: the file is small and read for
 * each call, and the thread pool would cost more than the read.
 */
export async function readUserFile(home: string, name: string): Promise<string | undefined> {
  const file = path.join(home, name)
  try {
    // Non-blocking: a FIFO at this path must not block the server.
    const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const { mode, uid } = fstatSync(fd)
      const foreign = process.geteuid !== undefined && uid !== process.geteuid()
      if (foreign || (mode & 0o022) !== 0) throw foreignFile(file)
      return readFileSync(fd, 'utf8')
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw toUserFileError(error, file)
  }
}

function foreignFile(file: string): StorageError {
  return new StorageError(
    'unsafe',
    file,
    `${file} can be written by others, so it is not used. Make it yours alone (chmod 600), or remove it.`,
  )
}

function toUserFileError(error: unknown, file: string): StorageError {
  if (error instanceof StorageError && error.cause === undefined) return error
  const cause = error instanceof StorageError ? error.cause : error
  const code = CODES[errnoOf(cause) ?? ''] ?? 'io'
  const why = cause instanceof Error ? cause.message : String(cause)
  return new StorageError(code, file, `Cannot use ${file} (${why}). ${ADVICE[code] ?? OTHER_ADVICE}`, error)
}

const CODES: Readonly<Record<string, StorageErrorCode>> = {
  ENOSPC: 'no-space',
  EDQUOT: 'no-space',
  EMFILE: 'too-many-files',
  ENFILE: 'too-many-files',
  EACCES: 'not-writable',
  EPERM: 'not-writable',
  EROFS: 'not-writable',
}

const ADVICE: Partial<Record<StorageErrorCode, string>> = {
  'no-space': 'Free some space.',
  'too-many-files': 'Raise the limit of open files (ulimit -n).',
}

const OTHER_ADVICE = 'Your data folder must be yours and writable; CHIRALITY_HOME names another.'

/** Replaces a file as a whole, readable by its owner only. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  await writeFileAtomic(file, text)
}
