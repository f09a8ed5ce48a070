import { visibleLine } from '@chirality/core'

/** Why a task with commands that nobody allowed waits for a person. */
export function notAllowedWords(commands: readonly string[]): string {
  const which = commands.length === 1 ? 'a command' : `${commands.length} commands`
  const words = `It runs ${which} that nobody allowed for this loop: ${commands.map(one => `\`${visibleLine(one)}\``).join(', ')}`
  return words.slice(0, MAX_WORDS)
}

const MAX_WORDS = 2_000
