import { chmod, lstat, mkdir } from 'node:fs/promises'
import { PersonaError } from '../persona-error.ts'
import { errnoOf, messageOf } from './errno.ts'

/** Makes `folder` a real folder that only this user can enter. Throws rather than write through a link. */
export async function ensurePrivateDirectory(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: PRIVATE_MODE })
    return
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw notWritable(folder, error)
  }
  const stats = await lstat(folder).catch((error: unknown) => Promise.reject(notWritable(folder, error)))
  if (!stats.isDirectory()) {
    const kind = stats.isSymbolicLink() ? 'a link' : 'not a folder'
    throw new PersonaError('unsafe', folder, {
      message: `is ${kind}. Remove it: prompts are kept in a real folder.`,
    })
  }
  const uid = process.geteuid?.()
  if (uid !== undefined && stats.uid !== uid) {
    throw new PersonaError('unsafe', folder, {
      message: `belongs to another user (uid ${stats.uid}). Remove it, or run as that user.`,
    })
  }
  if ((stats.mode & OTHERS) === 0) return
  await chmod(folder, PRIVATE_MODE).catch((error: unknown) => Promise.reject(notWritable(folder, error)))
}

export function notWritable(file: string, error: unknown): PersonaError {
  if (error instanceof PersonaError) return error
  return new PersonaError('not-writable', file, { message: `cannot be written: ${messageOf(error)}` })
}

const PRIVATE_MODE = 0o700
const OTHERS = 0o077
