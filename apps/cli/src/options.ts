import { stat } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { didYouMean } from '@chirality/core'
import { UsageError } from './exit-code.ts'

export interface OptionSpec {
  type: 'string' | 'boolean'
  /** An empty value is usually an unset shell variable, so it is allowed only if the option says so. */
  mayBeEmpty?: boolean
  /** May be given more than once. */
  isList?: boolean
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>

type Values<S extends OptionSpecs> = {
  [K in keyof S]?: S[K]['type'] extends 'boolean'
    ? boolean
    : S[K] extends { isList: true }
      ? string[]
      : string
}

/** Reads a command's options. An invalid one throws a UsageError that names the valid form. */
export function readOptions<const S extends OptionSpecs>(
  args: string[],
  specs: S,
): { values: Values<S>; positionals: string[] } {
  // Not strict: the built-in messages do not name the option that was meant, and a prompt may begin with a dash.
  const { tokens } = parseArgs({ args, options: optionTypes(specs), strict: false, tokens: true })
  const values: Record<string, string | string[] | boolean> = {}
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const spec = Object.hasOwn(specs, token.name) ? specs[token.name] : undefined
    if (!spec) throw unknownOption(token.rawName, specs)
    const before = Object.hasOwn(values, token.name) ? values[token.name] : undefined
    if (spec.isList) {
      values[token.name] = [...(Array.isArray(before) ? before : []), text(token, spec)]
      continue
    }
    if (before !== undefined) throw new UsageError(`--${token.name} is given twice.`)
    values[token.name] = spec.type === 'boolean' ? flag(token) : text(token, spec)
  }
  return { values: values as Values<S>, positionals }
}

export function oneOf<T extends string>(
  name: string,
  given: string | undefined,
  allowed: readonly T[],
): T | undefined {
  return oneWordOf(`--${name}`, given, allowed)
}

/** `oneOf` for an argument without dashes, which the message calls `label`. */
export function oneWordOf<T extends string>(
  label: string,
  given: string | undefined,
  allowed: readonly T[],
): T | undefined {
  if (given === undefined) return undefined
  const found = allowed.find(value => value === given)
  if (found !== undefined) return found
  const near = didYouMean(given, allowed)
  throw new UsageError(
    `${label} must be ${choice(allowed)}, not "${given}".${near ? ` Did you mean ${near}?` : ''}`,
  )
}

export function wholeNumber(
  name: string,
  given: string | undefined,
  range: { min: number; max: number },
): number | undefined {
  if (given === undefined) return undefined
  const value = Number(given)
  if (/^\d+$/.test(given) && value >= range.min && value <= range.max) return value
  throw new UsageError(`--${name} must be a whole number from ${range.min} to ${range.max}, not "${given}".`)
}

interface OptionToken {
  name: string
  value: string | undefined
  inlineValue: boolean | undefined
}

function flag({ name, inlineValue }: OptionToken): true {
  if (inlineValue) throw new UsageError(`--${name} takes no value.`)
  return true
}

function text({ name, value, inlineValue }: OptionToken, spec: OptionSpec): string {
  if (value === undefined) throw new UsageError(`--${name} needs a value.`)
  if (!inlineValue && /^-./.test(value)) {
    throw new UsageError(`--${name} needs a value. If it begins with a dash, write --${name}=${value}.`)
  }
  if (value === '' && !spec.mayBeEmpty)
    throw new UsageError(`--${name} is empty. Leave it out or give a value.`)
  return value
}

function unknownOption(rawName: string, specs: OptionSpecs): UsageError {
  const near = didYouMean(rawName, Object.keys(specs))
  return new UsageError(
    near
      ? `Unknown option ${rawName}. Did you mean --${near}?`
      : `Unknown option ${rawName}. An argument that begins with a dash goes after "--".`,
  )
}

function optionTypes(specs: OptionSpecs): Record<string, { type: 'string' | 'boolean' }> {
  return Object.fromEntries(Object.entries(specs).map(([name, { type }]) => [name, { type }]))
}

function choice(allowed: readonly string[]): string {
  return allowed.length === 1 ? `${allowed[0]}` : `one of ${allowed.join(', ')}`
}

/** The folder that --project names, or this one. */
export async function projectFolder(given: string | undefined): Promise<string> {
  const folder = path.resolve(given ?? '.')
  const info = await stat(folder).catch(() => null)
  if (info?.isDirectory()) return folder
  throw new UsageError(
    `The project folder ${folder} ${info ? 'is not a folder' : 'does not exist'}. Name an existing one with --project.`,
  )
}

/** The action after a command that has several, and the remaining arguments. */
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
