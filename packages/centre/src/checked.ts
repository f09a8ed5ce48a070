import type { z } from 'zod'

/**
 * Passes an answer on with its schema's type. The compiler checks the code; parsing every answer again would cost more
 * than most of them cost to make, so only tests do it: `checkAnswers`.
 */
export function checked<S extends z.ZodType>(
  schema: S,
): { (value: unknown): z.output<S>; readonly schema: S } {
  const pass = (value: unknown): z.output<S> => {
    checkAnswer?.(schema, value)
    return value as z.output<S>
  }
  return Object.assign(pass, { schema })
}

let checkAnswer: ((schema: z.ZodType, value: unknown) => void) | undefined

/** From now on an answer of this process that violates the contract is an error. For tests. */
export function checkAnswers(check = true): void {
  checkAnswer = check ? requireAnswer : undefined
}

function requireAnswer(schema: z.ZodType, value: unknown): void {
  // The value as a client receives it.
  const json = value === undefined ? undefined : JSON.parse(JSON.stringify(value))
  const { error } = schema.safeParse(json)
  if (error) throw new Error(`An answer is not what the contract says: ${error.message}`)
}
