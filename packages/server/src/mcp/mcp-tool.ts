import { isCodedError } from '@chirality/core'
import { z } from 'zod'
import type { ProgramScope } from '../guard/keys.ts'
import type { AppServices } from '../trpc/context.ts'

export interface ProgramCall {
  services: AppServices
  scope: ProgramScope
  /** Fires when the program disconnects or cancels the call. */
  signal: AbortSignal
}

export interface McpTool {
  name: string
  description: string
  input: z.ZodObject
  /** Returns what the program gets as JSON, or a text. Throws `Refused` for what it must not do. */
  run(input: unknown, call: ProgramCall): Promise<unknown>
}

/** A reason that the program is told. */
export class Refused extends Error {}

/** The longest time that a call waits for. A program calls again. */
export const MAX_WAIT_SECONDS = 300

export function tool<I extends z.ZodObject>(definition: {
  name: string
  description: string
  input: I
  run(input: z.output<I>, call: ProgramCall): Promise<unknown>
}): McpTool {
  const { run, input, ...words } = definition
  return {
    ...words,
    input,
    run: (given, call) => {
      const parsed = input.safeParse(given)
      if (!parsed.success) throw new Refused(z.prettifyError(parsed.error))
      return run(parsed.data, call)
    },
  }
}

/** What a program is told of an error. Faults of the server are not explained to programs. */
export function wordsOf(error: unknown): string | undefined {
  return error instanceof Refused || isCodedError(error) ? error.message : undefined
}
