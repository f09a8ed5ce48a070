import { closeSync, constants, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ensurePrivateDirectory, errnoOf, messageOf, StorageError, writeFileNow } from '@chirality/disk'
import { isSafeId } from '../persona.ts'
import { PersonaError } from '../persona-error.ts'
import { realProjectRoot } from './inside-project.ts'

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
  const file = path.join(folder, `${sessionId}-system.txt`)
  try {
    await ensurePrivateDirectory(own)
    ignoreInGit(path.join(own, '.gitignore'))
    await ensurePrivateDirectory(folder)
    if (!holds(file, text)) writeFileNow(file, text, { inside: folder, survives: 'kill' })
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

/** A link or a folder of somebody else on the way is told apart from what cannot be written. */
export function notWritable(file: string, error: unknown): PersonaError {
  if (error instanceof PersonaError) return error
  if (error instanceof StorageError && error.code === 'unsafe')
    return new PersonaError('persona-unsafe', error.path, {
      message: error.message.replace(`${error.path} `, ''),
    })
  return new PersonaError('persona-not-writable', file, { message: `cannot be written: ${messageOf(error)}` })
}
