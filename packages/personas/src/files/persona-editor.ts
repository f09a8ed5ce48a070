import { createHash } from 'node:crypto'
import { closeSync, lstatSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { createFileNow, errnoOf, temporaryName, writeFileNow } from '@chirality/disk'
import { AGENTS_FOLDER, personaFileName } from '../persona.ts'
import { PersonaError } from '../persona-error.ts'
import { MAX_PERSONA_BYTES, personaFileNames, personaText } from '../persona-file.ts'
import { insideProject } from './inside-project.ts'
import { openProjectFile } from './open-project-file.ts'
import { notWritable } from './save-prompt.ts'

/** The text of a persona's file, whatever is wrong with it, and the revision that a change of it has to name. */
export interface PersonaSource {
  text: string
  /** Hash of all bytes of the file. */
  revision: string
}

/** A file is only replaced or removed while it is the one that was read. `current` is the other one, null when it is gone. */
export type PersonaChange =
  | { kind: 'done'; revision: string | null }
  | { kind: 'conflict'; current: PersonaSource | null }

/** Null when there is no such file. Throws a PersonaError for a file that is no text of a persona's size. */
export function readSource(realRoot: string, id: string): PersonaSource | null {
  const { sourceFile, fileName } = namesOf(id)
  if (!personaFileNames(realRoot).includes(fileName)) return null
  const bytes = readBytes(realRoot, sourceFile)
  if (bytes === null) return null
  return { text: personaText(bytes, bytes.length, sourceFile), revision: revisionOf(bytes) }
}

/**
 * Writes a persona's file so that a reader sees the old text or the new one. `expected` is the revision that was read, null for
 * a new file. A link in the file's place is never written through, and a byte order mark is kept.
 */
export function writeSource(
  realRoot: string,
  id: string,
  { text, expected }: { text: string; expected: string | null },
): PersonaChange {
  const { sourceFile, fileName } = namesOf(id)
  refuseTooLarge(sourceFile, text)
  refuseTwin(realRoot, fileName)
  const before = currentBytes(realRoot, id)
  if ((before === null ? null : revisionOf(before)) !== expected) return conflict(realRoot, id)
  const folder = agentsFolder(realRoot)
  const file = path.join(folder, fileName)
  const bytes = Buffer.from(before?.subarray(0, BOM.length).equals(BOM) ? `\uFEFF${text}` : text)
  const options = { inside: realRoot, temporary: temporaryName(path.join(folder, `.${fileName}`)) }
  try {
    if (before === null) {
      if (!createFileNow(file, bytes, { ...options, mode: 'umask' })) return conflict(realRoot, id)
    } else {
      const check = () => {
        const now = currentBytes(realRoot, id)
        if (now === null || revisionOf(now) !== expected) throw new Changed()
      }
      writeFileNow(file, bytes, { ...options, mode: lstatSync(file).mode & 0o777, check })
    }
  } catch (error) {
    if (error instanceof Changed) return conflict(realRoot, id)
    throw notWritable(sourceFile, error)
  }
  return { kind: 'done', revision: revisionOf(bytes) }
}

/** Removes the file that was read, and no other. */
export function removeSource(realRoot: string, id: string, expected: string): PersonaChange {
  const bytes = currentBytes(realRoot, id)
  if (bytes === null || revisionOf(bytes) !== expected) return conflict(realRoot, id)
  const { sourceFile, fileName } = namesOf(id)
  try {
    rmSync(path.join(agentsFolder(realRoot), fileName))
  } catch (error) {
    throw notWritable(sourceFile, error)
  }
  return { kind: 'done', revision: null }
}

const BOM = Buffer.from('\uFEFF')

function namesOf(id: string): { fileName: string; sourceFile: string } {
  const fileName = personaFileName(id)
  return { fileName, sourceFile: `${AGENTS_FOLDER}/${fileName}` }
}

function conflict(realRoot: string, id: string): PersonaChange {
  return { kind: 'conflict', current: readSource(realRoot, id) }
}

/** Throws where a link is in the file's place: what it leads to has another name, and perhaps other readers. */
function currentBytes(realRoot: string, id: string): Buffer | null {
  const { fileName, sourceFile } = namesOf(id)
  const folder = insideProject(realRoot, AGENTS_FOLDER)
  if (folder === null) return null
  const stats = lstatSync(path.join(folder, fileName), { throwIfNoEntry: false })
  if (stats === undefined) return null
  if (stats.isSymbolicLink()) {
    throw new PersonaError('persona-unsafe', sourceFile, {
      message: 'is a symbolic link. Edit the file that it leads to, or replace the link with a file.',
    })
  }
  return readBytes(realRoot, sourceFile)
}

function readBytes(realRoot: string, sourceFile: string): Buffer | null {
  const file = openProjectFile(realRoot, sourceFile)
  if (file === null) return null
  try {
    if (file.stats.size > BigInt(MAX_PERSONA_BYTES)) throw tooLarge(sourceFile, Number(file.stats.size))
    return readFileSync(file.fd)
  } finally {
    closeSync(file.fd)
  }
}

function revisionOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function refuseTooLarge(sourceFile: string, text: string): void {
  const size = Buffer.byteLength(text)
  if (size > MAX_PERSONA_BYTES) throw tooLarge(sourceFile, size)
}

function tooLarge(sourceFile: string, size: number): PersonaError {
  return new PersonaError('persona-too-large', sourceFile, {
    message: `is ${size} bytes long; ${MAX_PERSONA_BYTES} are the most. Shorten it.`,
  })
}

/** Where file names do not tell case apart, the new file would replace the other one. */
function refuseTwin(realRoot: string, fileName: string): void {
  const twin = personaFileNames(realRoot).find(
    name => name !== fileName && name.toLowerCase() === fileName.toLowerCase(),
  )
  if (twin === undefined) return
  throw new PersonaError('persona-invalid-id', `${AGENTS_FOLDER}/${fileName}`, {
    message: `differs from ${twin} only in capitals. Choose another name.`,
  })
}

/** The real folder; made where there is none. */
function agentsFolder(realRoot: string): string {
  const known = insideProject(realRoot, AGENTS_FOLDER)
  if (known !== null) return known
  try {
    mkdirSync(path.join(realRoot, AGENTS_FOLDER))
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw notWritable(AGENTS_FOLDER, error)
  }
  return insideProject(realRoot, AGENTS_FOLDER) ?? path.join(realRoot, AGENTS_FOLDER)
}

/** Somebody wrote the file meanwhile. */
class Changed extends Error {}
