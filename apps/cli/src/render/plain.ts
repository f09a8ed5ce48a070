import { stripVTControlCharacters } from 'node:util'

/**
 * What others wrote, an agent or whoever named a folder, made harmless: no sequence that moves the cursor, sets the title or fills the clipboard, and
 * nothing that shows text in another order than it has.
 */
export function plain(text: string): string {
  return stripVTControlCharacters(text).replace(HARMFUL, control => (KEPT.has(control) ? control : ''))
}

/** Control characters, and the marks that turn the direction of writing. */
const HARMFUL = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu
const KEPT = new Set(['\n', '\t'])
