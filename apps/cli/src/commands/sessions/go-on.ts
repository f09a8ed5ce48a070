import path from 'node:path'
import type { StoredSession } from '@chirality/sessions'
import { plain } from '../../render/plain.ts'

/** The command that continues a session. Run in the folder where we are, or naming the one that it belongs to. */
export function continueCommand({ id, projectRoot }: StoredSession): string {
  const place = path.resolve('.') === projectRoot ? '' : ` --project ${quoted(projectRoot)}`
  return `chirality run --session ${id}${place} "…"`
}

function quoted(word: string): string {
  if (/^[\w./-]+$/.test(word)) return word
  // Printed as it is, such a name would do to the terminal what it says.
  if (plain(word) !== word || /[\n\t]/.test(word)) return `$'${word.replace(ODD, escaped)}'`
  return `'${word.replaceAll("'", "'\\''")}'`
}

const ODD = /[^\x20-\x7e]|['\\]/gu

function escaped(character: string): string {
  const bytes = [...Buffer.from(character)]
  return bytes.map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
}
