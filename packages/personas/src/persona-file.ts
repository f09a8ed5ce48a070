import { decodeText } from './files/decode-text.ts'
import type { FileCache } from './files/file-cache.ts'
import type { ParsedPersona } from './parse/parse-persona.ts'
import { AGENTS_FOLDER, type PersonaConfig, personaFileName } from './persona.ts'
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
      const text = textOf(bytes, size, sourceFile)
      const { settings, problems, warnings } = parsePersona(text)
      return { persona: { id, sourceFile, ...settings }, text, problems, warnings }
    },
  })
}

/** Far more than a prompt takes. */
const MAX_PERSONA_BYTES = 256 * 1024

function textOf(bytes: Uint8Array, size: number, sourceFile: string): string {
  if (size > MAX_PERSONA_BYTES) {
    throw new PersonaError('too-large', sourceFile, {
      message: `is ${size} bytes long; ${MAX_PERSONA_BYTES} are the most. Shorten it.`,
    })
  }
  const decoded = decodeText(bytes)
  if (decoded.kind === 'text') return decoded.text
  const message =
    decoded.kind === 'binary'
      ? 'is not a text: it holds NUL bytes.'
      : 'is not UTF-8. Save it in that encoding.'
  throw new PersonaError('not-text', sourceFile, { message, line: firstBadLine(bytes) })
}

/** A line break is never part of another character, so each line can be tried alone. */
function firstBadLine(bytes: Uint8Array): number {
  const lines = Buffer.from(bytes).toString('latin1').split('\n')
  return lines.findIndex(line => decodeText(Buffer.from(line, 'latin1')).kind !== 'text') + 1
}
