import { z } from 'zod'
import { didYouMean } from './did-you-mean.ts'

/** An object that refuses unknown keys with a message that says which keys exist. */
export function strict<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const allowed = Object.keys(shape)
  return z.strictObject(shape, {
    error: issue =>
      issue.code === 'unrecognized_keys' ? unknownKeys(issue.keys as string[], allowed) : undefined,
  })
}

/** Picks one schema by looking at the value. Unlike `z.union`, the errors are those of the schema the author meant. */
export function chosenBy<Schema extends z.ZodType>(choose: (value: unknown) => Schema) {
  return z.unknown().transform((value, context): z.output<Schema> => {
    const result = choose(value).safeParse(value)
    if (result.success) return result.data
    for (const issue of result.error.issues)
      context.issues.push({ ...issue, input: value } as z.core.$ZodRawIssue)
    return z.NEVER
  })
}

/** Picks the schema by the first key of `table` that the object has. */
export function chosenByKey<Schema extends z.ZodType>(noun: string, table: Record<string, Schema>) {
  const keys = Object.keys(table)
  return chosenBy((value: unknown): Schema => {
    const key = keys.find(candidate => has(value, candidate))
    const schema = key === undefined ? undefined : table[key]
    // A schema that always fails: it exists only for its message.
    return schema ?? (z.never({ error: missingKey(noun, keys) }) as unknown as Schema)
  })
}

function missingKey(noun: string, keys: string[]) {
  return ({ input }: { input?: unknown }): string => {
    const needs = `${noun} needs one of the keys ${keys.join(', ')}`
    if (typeof input !== 'object' || input === null) return needs
    const near = Object.keys(input).flatMap(key => didYouMean(key, keys) ?? [])
    return near[0] ? `${needs}; did you mean "${near[0]}"?` : needs
  }
}

function unknownKeys(unknown: string[], allowed: string[]): string {
  const named = unknown.map(key => {
    const near = didYouMean(key, allowed)
    return near ? `"${key}", did you mean "${near}"?` : `"${key}".`
  })
  return `unknown key ${named.join(' And ')} Allowed here: ${allowed.join(', ')}`
}

function has(value: unknown, key: string): boolean {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
}
