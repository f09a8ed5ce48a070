import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { isSafeId } from '../persona.ts'
import { PersonaError } from '../persona-error.ts'
import { errnoOf } from './errno.ts'
import { realProjectRoot } from './inside-project.ts'
import { openedPath } from './opened-path.ts'
import { ensurePrivateDirectory, notWritable } from './private-directory.ts'

/**
 * Keeps the system prompt of a session's last turn, so that the turn can be repeated with the agent's own command.
 * Returns the path, `.chirality/prompts/<sessionId>-system.txt` in the project.
 */
export async function savePrompt(projectRoot: string, sessionId: string, text: string): Promise<string> {
  if (!isSafeId(sessionId)) {
    throw new PersonaError('invalid-id', JSON.stringify(sessionId.slice(0, 80)), {
      message: 'is not a session id: only letters, digits, "_" and "-", at most 64.',
    })
  }
  const own = path.join(await realProjectRoot(projectRoot), '.chirality')
  const folder = path.join(own, 'prompts')
  await ensurePrivateDirectory(own)
  await ignoreInGit(path.join(own, '.gitignore'))
  await ensurePrivateDirectory(folder)
  const file = path.join(folder, `${sessionId}-system.txt`)
  try {
    await writeAtomically(file, text)
  } catch (error) {
    throw notWritable(file, error)
  }
  return file
}

const PRIVATE_MODE = 0o600
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
const CREATE = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW

/** A reader sees the old text or the new one. The rename replaces a link in the file's place, and writes to nothing behind it. */
async function writeAtomically(file: string, text: string): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`
  try {
    await writeNew(temporary, text)
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function writeNew(file: string, text: string): Promise<void> {
  const handle = await open(file, CREATE, PRIVATE_MODE)
  try {
    if ((await openedPath(handle, file)) !== file) {
      throw new PersonaError('unsafe', file, {
        message: 'its folder was replaced by a link. Remove the link.',
      })
    }
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Prompts quote the project's files: they belong in no commit and in no package. */
async function ignoreInGit(file: string): Promise<void> {
  let handle: FileHandle
  try {
    handle = await open(file, CREATE, PRIVATE_MODE)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return
    throw notWritable(file, error)
  }
  try {
    await handle.writeFile('*\n')
  } finally {
    await handle.close()
  }
}
