import { chmodSync, lstatSync, mkdirSync, type Stats } from 'node:fs'
import { PersonaError } from '../persona-error.ts'
import { errnoOf, messageOf } from './errno.ts'

/** Makes `folder` a real folder that only this user can enter. Throws rather than write through a link. */
export function ensurePrivateDirectory(folder: string): void {
  try {
    mkdirSync(folder, { mode: PRIVATE_MODE })
    return
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw notWritable(folder, error)
  }
  const stats = facts(folder)
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
  try {
    chmodSync(folder, PRIVATE_MODE)
  } catch (error) {
    throw notWritable(folder, error)
  }
}

function facts(folder: string): Stats {
  try {
    return lstatSync(folder)
  } catch (error) {
    throw notWritable(folder, error)
  }
}

export function notWritable(file: string, error: unknown): PersonaError {
  if (error instanceof PersonaError) return error
  return new PersonaError('not-writable', file, { message: `cannot be written: ${messageOf(error)}` })
}

const PRIVATE_MODE = 0o700
const OTHERS = 0o077
