import path from 'node:path'
import type { StoredSession } from '@chirality/sessions'

/** The command that continues a session. Run in the folder where we are, or naming the one that it belongs to. */
export function continueCommand({ id, projectRoot }: StoredSession): string {
  const place = path.resolve('.') === projectRoot ? '' : ` --project ${quoted(projectRoot)}`
  return `chirality run --session ${id}${place} "…"`
}

function quoted(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
