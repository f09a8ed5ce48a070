import { readdirSync } from 'node:fs'
import { errnoOf, messageOf } from '@chirality/disk'
import { decodeText } from './files/decode-text.ts'
import type { FileCache } from './files/file-cache.ts'
import { insideProject } from './files/inside-project.ts'
import type { ParsedPersona } from './parse/parse-persona.ts'
import {
  AGENTS_FOLDER,
  type BrokenPersona,
  isSafeId,
  type PersonaConfig,
  type PersonaEntry,
  type PersonaProblem,
  personaFileName,
} from './persona.ts'
import { PersonaError } from './persona-error.ts'

export interface PersonaFile extends Omit<ParsedPersona, 'settings'> {
  persona: PersonaConfig
  /** The whole file, frontmatter included. */
  text: string
}

/** Null when there is no such file; throws a PersonaError when it is not a text of a persona's size. */
export async function readPersonaFile(
  realRoot: string,
  id: string,
  files: FileCache,
): Promise<PersonaFile | null> {
  // Most turns have no persona, and a YAML parser is larger than all the rest of what a turn loads.
  const { parsePersona } = await import('./parse/parse-persona.ts')
  const sourceFile = `${AGENTS_FOLDER}/${personaFileName(id)}`
  return files.read({
    realRoot,
    relativePath: sourceFile,
    kind: 'persona',
    maxBytes: MAX_PERSONA_BYTES + 1,
    parse: (bytes, size) => {
      const text = personaText(bytes, size, sourceFile)
      const { settings, problems, warnings } = parsePersona(text)
      return { persona: { id, sourceFile, ...settings }, text, problems, warnings }
    },
  })
}

/** Far more than a prompt takes. */
export const MAX_PERSONA_BYTES = 256 * 1024

/** Throws a PersonaError for bytes that are no text, or too many. */
export function personaText(bytes: Uint8Array, size: number, sourceFile: string): string {
  if (size > MAX_PERSONA_BYTES) {
    throw new PersonaError('persona-too-large', sourceFile, {
      message: `is ${size} bytes long; ${MAX_PERSONA_BYTES} are the most. Shorten it.`,
    })
  }
  const decoded = decodeText(bytes)
  if (decoded.kind === 'text') return decoded.text
  const message =
    decoded.kind === 'binary'
      ? 'is not a text file: it contains NUL bytes.'
      : 'is not UTF-8. Save it as UTF-8.'
  throw new PersonaError('persona-not-text', sourceFile, { message, line: firstBadLine(bytes) })
}

/** A line break is never part of another character, so each line can be tried alone. */
function firstBadLine(bytes: Uint8Array): number {
  const lines = Buffer.from(bytes).toString('latin1').split('\n')
  return lines.findIndex(line => decodeText(Buffer.from(line, 'latin1')).kind !== 'text') + 1
}

/** The names in `agents/` that are, or were meant to be, personas. Sorted; empty when there is no such folder. */
export function personaFileNames(realRoot: string): string[] {
  const folder = insideProject(realRoot, AGENTS_FOLDER)
  if (folder === null) return []
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch (error) {
    const code = errnoOf(error)
    if (code === 'ENOENT') return []
    if (code === 'ENOTDIR') {
      throw new PersonaError('persona-wrong-kind', AGENTS_FOLDER, {
        message: 'is a file. Personas are files in a folder of that name.',
      })
    }
    throw new PersonaError('persona-unreadable', AGENTS_FOLDER, {
      message: `cannot be read: ${messageOf(error)}`,
    })
  }
  return names.filter(name => PERSONA_FILE.test(name)).sort()
}

/** The part between `AGENT_` and `.md`. */
export function idInFileName(name: string): string {
  return name.slice('AGENT_'.length, -'.md'.length)
}

/** Why a file that `personaFileNames` found is not a persona by its name. */
export function nameProblem(name: string): PersonaProblem | undefined {
  const id = idInFileName(name)
  if (!isSafeId(id)) {
    return {
      message:
        'has a name that is longer than 64 characters or has others than letters, digits, "_" and "-". Rename it.',
    }
  }
  const right = personaFileName(id)
  return name === right ? undefined : { message: `must be named ${right}: capitals count. Rename it.` }
}

/** In any case, so that a file a person takes for a persona does not just stay away from the list. */
const PERSONA_FILE = /^agent_.*\.md$/is

export function broken(id: string, sourceFile: string, problems: PersonaProblem[]): BrokenPersona {
  const [first] = problems
  return { kind: 'broken', id, sourceFile, error: first?.message ?? '', line: first?.line, problems }
}

/** Throws again what is not about a file: a bug must not look like a broken persona. */
export function problemsOf(error: unknown): PersonaProblem[] {
  if (error instanceof PersonaError) return error.problems
  throw error
}

/** Where file names do not tell case apart, one of two such files would be lost on checkout. */
export function warnOfTwins(entries: PersonaEntry[]): PersonaEntry[] {
  const counts = new Map<string, number>()
  for (const entry of entries) counts.set(sameInAnyCase(entry), (counts.get(sameInAnyCase(entry)) ?? 0) + 1)
  for (const entry of entries) {
    const isTwin = (counts.get(sameInAnyCase(entry)) ?? 0) > 1
    if (isTwin && entry.kind === 'persona')
      entry.warnings.push({ message: 'another file has the same name apart from capitals. Rename one.' })
  }
  return entries
}

function sameInAnyCase(entry: PersonaEntry): string {
  return (entry.kind === 'persona' ? entry.persona.id : entry.id).toLowerCase()
}
