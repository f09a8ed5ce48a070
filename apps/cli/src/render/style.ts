import { stripVTControlCharacters } from 'node:util'
import { processEnv } from '@chirality/runner'

export interface Style {
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  cyan(text: string): string
}

/** Six escape sequences; a dependency for them would be larger. */
export function style(colour: boolean): Style {
  const wrap = (open: number, close: number) => (text: string) =>
    colour ? `\x1b[${open}m${text}\x1b[${close}m` : text
  return {
    bold: wrap(1, 22),
    dim: wrap(2, 22),
    red: wrap(31, 39),
    green: wrap(32, 39),
    yellow: wrap(33, 39),
    cyan: wrap(36, 39),
  }
}

/** Only for a terminal that supports colours, and whose user has not disabled them (no-color.org). */
export function wantsColour(isTerminal: boolean, readEnv: typeof processEnv = processEnv): boolean {
  if (!isTerminal) return false
  const { NO_COLOR, TERM } = readEnv()
  return !NO_COLOR && TERM !== 'dumb'
}

/**
 * Makes text of others, such as an agent or a folder's name, harmless: it removes sequences that move the cursor, set
 * the title or fill the clipboard, and characters that change the order in which text is shown.
 */
export function plain(text: string): string {
  return stripVTControlCharacters(text).replace(HARMFUL, control => (KEPT.has(control) ? control : ''))
}

/** Control characters, and the marks that change the writing direction. */
const HARMFUL = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu
const KEPT = new Set(['\n', '\t'])

/** `2026-02-07 10:11`, in UTC like everything that is kept. */
export function minute(time: string): string {
  return time.slice(0, 'YYYY-MM-DDTHH:MM'.length).replace('T', ' ')
}
