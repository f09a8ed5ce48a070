import { didYouMean } from '../did-you-mean.ts'
import { UsageError } from '../usage-error.ts'

/** The word after a command that has several things to do, and what follows it. */
export function chooseAction<A>(
  command: string,
  [name, ...rest]: string[],
  actions: Readonly<Record<string, A>>,
): { run: A; rest: string[] } {
  const names = Object.keys(actions)
  const known = `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
  if (name === undefined || name.startsWith('-'))
    throw new UsageError(`Say what to do: ${command} knows ${known}.`)
  const run = Object.hasOwn(actions, name) ? actions[name] : undefined
  if (run !== undefined) return { run, rest }
  const near = didYouMean(name, names)
  throw new UsageError(
    `${command} knows ${known}, not "${name}".${near ? ` Did you mean ${command} ${near}?` : ''}`,
  )
}

/** The one argument that an action takes. */
export function oneArgument(positionals: readonly string[], what: string): string {
  const [only, ...more] = positionals
  if (only === undefined || only === '') throw new UsageError(`Say which one: ${what} is missing.`)
  if (more.length > 0) throw new UsageError(`Unexpected argument "${more[0]}".`)
  return only
}

export function noArgument(positionals: readonly string[]): void {
  if (positionals.length > 0) throw new UsageError(`Unexpected argument "${positionals[0]}".`)
}
