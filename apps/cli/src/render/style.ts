import { processEnv } from '@chirality/runner'

export interface Style {
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  cyan(text: string): string
}

/** Six escapes; a dependency for them would be larger than they are. */
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

/** Only a terminal that can show it, and whose user has not said no (no-color.org). */
export function wantsColour(isTerminal: boolean, readEnv: typeof processEnv = processEnv): boolean {
  if (!isTerminal) return false
  const { NO_COLOR, TERM } = readEnv()
  return !NO_COLOR && TERM !== 'dumb'
}
