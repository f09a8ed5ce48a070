import { visibleLine } from '@chirality/core'

/**
 * Why a task with commands that were not allowed waits for a person. `refused`: commands that only the loop's journal
 * allows.
 */
export function notAllowedWords(commands: readonly string[], refused?: ReadonlySet<string>): string {
  const which = commands.length === 1 ? 'a command' : `${commands.length} commands`
  const all = commands.map(one => `\`${visibleLine(one)}\``).join(', ')
  const isRefused = commands.some(command => refused?.has(command))
  const words = `It runs ${which} that nobody allowed for this loop${isRefused ? ONLY_JOURNAL : ''}: ${all}`
  return words.slice(0, MAX_WORDS)
}

/** Why a task of the list did not start. `missing`: its checks that were removed from the list. */
export function parkedWords(
  { commands, missing = [] }: { commands: readonly string[]; missing?: readonly string[] },
  refused?: ReadonlySet<string>,
): string {
  if (missing.length === 0) return notAllowedWords(commands, refused)
  const gone = missing.map(one => `\`${visibleLine(one)}\``).join(', ')
  const words = `Since the loop began, somebody took ${missing.length === 1 ? 'a check' : `${missing.length} checks`} out of it: ${gone}. Put it back in the list, or run the task again as the list has it now.`
  return `${words}${commands.length === 0 ? '' : ` ${notAllowedWords(commands, refused)}`}`.slice(
    0,
    MAX_WORDS,
  )
}

const ONLY_JOURNAL = ', as far as own.json in your data folder knows: only the journal says so'
const MAX_WORDS = 2_000
