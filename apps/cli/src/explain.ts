import { isCodedError } from '@chirality/core'
import { EXIT, type ExitCode, exitCodeOfError } from './exit-code.ts'

/**
 * What a person is told about an error that ended a command, and the exit code for it. No class is asked for: `run` is bundled
 * by itself, so its classes are not those of the rest.
 */
export function explain(error: unknown): { message: string; code: ExitCode } {
  if (error instanceof Error) {
    const code = expectedCode(error)
    const hint = error.name === 'UsageError' ? '\nSee `chirality --help`.' : ''
    if (code !== undefined) return { message: `chirality: ${error.message}${hint}\n`, code }
  }
  // An internal error: a bug report needs the stack.
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { message: `chirality: ${text}\n`, code: EXIT.failed }
}

/** Undefined for an unexpected error. */
function expectedCode(error: Error): ExitCode | undefined {
  if (error.name === 'UsageError') return EXIT.usage
  if (isCodedError(error)) return exitCodeOf(error.code, error.cause)
  if (error.name !== 'ServerRefusedError' || !('code' in error)) return undefined
  return error.code === 'budget' ? EXIT.limit : exitCodeOfError({ code: String(error.code) })
}

function exitCodeOf(code: string, cause: unknown): ExitCode {
  if (code === 'budget') return EXIT.limit
  if (USAGE.has(code) || /^(persona|search)-/.test(code)) return EXIT.usage
  // A persona that is there and wrong is told by its own code.
  if (code === 'persona' && isCodedError(cause)) return exitCodeOf(cause.code, cause.cause)
  return exitCodeOfError({ code })
}

/** Files that cannot be used as the command was called, or the project that it was called for. */
const USAGE: ReadonlySet<string> = new Set([
  'project-missing',
  'project-not-a-directory',
  'not-writable',
  'unsafe',
  'invalid-id',
  'changed',
  'lost',
])
