import { setTimeout as pause } from 'node:timers/promises'
import { isCodedError } from '@chirality/core'
import { z } from 'zod'
import type { Centre } from '../centre.ts'
import type { ProgramScope } from './programs.ts'

export interface ProgramCall {
  centre: Centre
  scope: ProgramScope
  /** Fires when the program disconnects or cancels the call. */
  signal: AbortSignal
  /** Tells the program that the call goes on. Does nothing if it did not ask to be told. */
  progress(message: string): void
}

export interface ProgramTool {
  name: string
  /** For people. */
  title: string
  description: string
  hints: ToolHints
  input: z.ZodObject
  /** The form of its answer. Undefined: a text. */
  output?: z.ZodObject
  /** Returns what the program gets as JSON, or a text. Throws `Refused` for what it must not do. */
  run(input: unknown, call: ProgramCall): Promise<unknown>
}

/** Facts that a program may rely on before it calls a tool. */
export interface ToolHints {
  readOnlyHint: boolean
  destructiveHint: boolean
  idempotentHint: boolean
  openWorldHint: boolean
}

/** It changes nothing. */
export const READS: ToolHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}
/** It makes an agent work, which may change files and reach the network. */
export const WORKS: ToolHints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
}
/** It ends work, and changes nothing else; a second call does nothing. */
export const ENDS: ToolHints = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
}

/** A reason that the program is told. */
export class Refused extends Error {}

/** Shorter than the minute after which clients give a call up. */
const DEFAULT_WAIT_SECONDS = 45

/** How long a call waits at most. A program calls again. */
export const waitSeconds = z
  .number()
  .positive()
  .max(300)
  .default(DEFAULT_WAIT_SECONDS)
  .describe('How long to wait. More than 55 only for a client that waits longer than a minute.')

/** Waits until `over` fires or the time has passed, and tells the program now and then that it still waits. */
export async function waitFor(
  over: AbortSignal,
  withinMs: number,
  { call, state }: { call: ProgramCall; state: () => string },
): Promise<void> {
  const signal = AbortSignal.any([over, call.signal])
  const telling = setInterval(() => call.progress(state()), PROGRESS_MS)
  try {
    call.progress(state())
    await pause(withinMs, undefined, { signal, ref: false }).catch(() => {})
  } finally {
    clearInterval(telling)
  }
}

const PROGRESS_MS = 5_000

export function tool<I extends z.ZodObject>(definition: {
  name: string
  title: string
  description: string
  hints: ToolHints
  input: I
  output?: z.ZodObject
  run(input: z.output<I>, call: ProgramCall): Promise<unknown>
}): ProgramTool {
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

/** The words of an error for a program. Faults of the server are not explained to programs. */
export function wordsOf(error: unknown): string | undefined {
  return error instanceof Refused || isCodedError(error) ? error.message : undefined
}
