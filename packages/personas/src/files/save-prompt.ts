import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { isSafeId } from '../persona.ts'
import { PersonaError } from '../persona-error.ts'
import { errnoOf, messageOf } from './errno.ts'
import { realProjectRoot } from './inside-project.ts'
import { openedPath } from './open-project-file.ts'

/**
 * Keeps the system prompt of a session's last turn, so that the turn can be repeated with the agent's own command.
 * Returns the path, `.chirality/prompts/<sessionId>-system.txt` in the project. The disk is not waited for: what a power cut
 * takes is composed again with the next turn.
 */
export async function savePrompt(projectRoot: string, sessionId: string, text: string): Promise<string> {
  if (!isSafeId(sessionId)) {
    throw new PersonaError('persona-invalid-id', JSON.stringify(sessionId.slice(0, 80)), {
      message: 'is not a session id: only letters, digits, "_" and "-", at most 64.',
    })
  }
  const own = path.join(realProjectRoot(projectRoot), '.chirality')
  const folder = path.join(own, 'prompts')
  ensurePrivateDirectory(own)
  ignoreInGit(path.join(own, '.gitignore'))
  ensurePrivateDirectory(folder)
  const file = path.join(folder, `${sessionId}-system.txt`)
  try {
    if (!holds(file, text)) writeAtomically(file, text)
  } catch (error) {
    throw notWritable(file, error)
  }
  return file
}

const PRIVATE_MODE = 0o600
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants
const CREATE = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW

/** Most turns of a session have the prompt of the turn before. */
function holds(file: string, text: string): boolean {
  try {
    return withFile(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, fd => {
      const stats = fstatSync(fd)
      return stats.isFile() && stats.size === Buffer.byteLength(text) && readFileSync(fd, 'utf8') === text
    })
  } catch {
    return false
  }
}

/** A reader sees the old text or the new one. The rename replaces a link in the file's place, and writes to nothing behind it. */
function writeAtomically(file: string, text: string): void {
  const temporary = `${file}.${randomUUID()}.tmp`
  try {
    writeNew(temporary, text)
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  }
}

function writeNew(file: string, text: string): void {
  withFile(file, CREATE, fd => {
    if (openedPath(fd, file) !== file) {
      throw new PersonaError('persona-unsafe', file, {
        message: 'its folder was replaced by a symbolic link. Remove the link.',
      })
    }
    writeFileSync(fd, text)
  })
}

/** Prompts quote the project's files: they belong in no commit and in no package. */
function ignoreInGit(file: string): void {
  try {
    withFile(file, CREATE, fd => writeFileSync(fd, '*\n'))
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw notWritable(file, error)
  }
}

function withFile<T>(file: string, flags: number, use: (fd: number) => T): T {
  const fd = openSync(file, flags, PRIVATE_MODE)
  try {
    return use(fd)
  } finally {
    closeSync(fd)
  }
}

/** Makes `folder` a real folder that only this user can enter. Throws rather than write through a link. */
function ensurePrivateDirectory(folder: string): void {
  try {
    mkdirSync(folder, { mode: PRIVATE_FOLDER_MODE })
    return
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw notWritable(folder, error)
  }
  const stats = facts(folder)
  if (!stats.isDirectory()) {
    const kind = stats.isSymbolicLink() ? 'a link' : 'not a folder'
    throw new PersonaError('persona-unsafe', folder, {
      message: `is ${kind}. Remove it: prompts are kept in a real folder.`,
    })
  }
  const uid = process.geteuid?.()
  if (uid !== undefined && stats.uid !== uid) {
    throw new PersonaError('persona-unsafe', folder, {
      message: `belongs to another user (uid ${stats.uid}). Remove it, or run as that user.`,
    })
  }
  if ((stats.mode & OTHERS) === 0) return
  try {
    chmodSync(folder, PRIVATE_FOLDER_MODE)
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

function notWritable(file: string, error: unknown): PersonaError {
  if (error instanceof PersonaError) return error
  return new PersonaError('persona-not-writable', file, { message: `cannot be written: ${messageOf(error)}` })
}

const PRIVATE_FOLDER_MODE = 0o700
const OTHERS = 0o077
