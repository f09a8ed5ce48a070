import { HarnessError } from '@chirality/core'
import { EXIT, type ExitCode, exitCodeOfError } from './exit-code.ts'
import { UsageError } from './usage-error.ts'

/** What a person is told about an error that ended a command, and the exit code for it. */
export function explain(error: unknown): { message: string; code: ExitCode } {
  if (error instanceof UsageError) {
    return { message: `chirality: ${error.message}\nSee \`chirality --help\`.\n`, code: EXIT.usage }
  }
  if (error instanceof HarnessError) {
    return { message: `chirality: ${error.message}\n`, code: exitCodeOfError(error) }
  }
  // A fault of ours: whoever reports it needs to say where.
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { message: `chirality: ${text}\n`, code: EXIT.failed }
}
