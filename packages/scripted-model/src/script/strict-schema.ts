import { z } from 'zod'

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

/** The candidate that a person most likely meant, if one is near enough. */
export function didYouMean(written: string, candidates: readonly string[]): string | undefined {
  const word = plain(written)
  let best: string | undefined
  let bestDistance = Math.ceil(word.length / 3) + 1
  for (const candidate of candidates) {
    const distance = isStart(word, plain(candidate)) ? 1 : editDistance(word, plain(candidate))
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** `stop_reason`, `stop-reason` and `stopReason` are the same word to the person who typed it. */
function plain(word: string): string {
  return word.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** `retryAfter` for `retryAfterSeconds`: the unit is what people leave out. */
function isStart(word: string, candidate: string): boolean {
  return word.length >= 4 && candidate.startsWith(word)
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1)
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[right.length] ?? 0
}
