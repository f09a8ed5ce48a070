import { visibleLine } from '@chirality/core'

/** Why a task with commands that nobody allowed waits for a person. `refused`: those that only the loop's journal allowed. */
export function notAllowedWords(commands: readonly string[], refused?: ReadonlySet<string>): string {
  const which = commands.length === 1 ? 'a command' : `${commands.length} commands`
  const all = commands.map(one => `\`${visibleLine(one)}\``).join(', ')
  const isRefused = commands.some(command => refused?.has(command))
  const words = `It runs ${which} that nobody allowed for this loop${isRefused ? ONLY_JOURNAL : ''}: ${all}`
  return words.slice(0, MAX_WORDS)
}

const ONLY_JOURNAL =
  ', as far as your data folder knows: only the journal in the project says so, where an agent or an earlier version wrote it'
const MAX_WORDS = 2_000
