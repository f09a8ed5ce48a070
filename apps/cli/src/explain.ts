import { HarnessError } from '@chirality/core'
import { PersonaError } from '@chirality/personas'
import {
  ImportError,
  ProjectLockedError,
  SearchError,
  SessionBusyError,
  SessionStartError,
  StorageError,
  type StorageErrorCode,
} from '@chirality/sessions'
import { EXIT, type ExitCode, exitCodeOfError } from './exit-code.ts'
import { UsageError } from './usage-error.ts'

/** What a person is told about an error that ended a command, and the exit code for it. */
export function explain(error: unknown): { message: string; code: ExitCode } {
  if (error instanceof UsageError) {
    return { message: `chirality: ${error.message}\nSee \`chirality --help\`.\n`, code: EXIT.usage }
  }
  const code = expectedCode(error)
  if (code !== undefined && error instanceof Error) return { message: `chirality: ${error.message}\n`, code }
  // A fault of ours: whoever reports it needs to say where.
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { message: `chirality: ${text}\n`, code: EXIT.failed }
}

/** Undefined for an error that nobody expected. */
function expectedCode(error: unknown): ExitCode | undefined {
  if (error instanceof HarnessError) return exitCodeOfError(error)
  if (error instanceof StorageError) return FAULTS.has(error.code) ? EXIT.failed : EXIT.usage
  if (error instanceof PersonaError || error instanceof SearchError) return EXIT.usage
  if (error instanceof SessionStartError)
    return error.code === 'budget' ? EXIT.limit : (expectedCode(error.cause) ?? EXIT.failed)
  const isRefusal =
    error instanceof ImportError || error instanceof ProjectLockedError || error instanceof SessionBusyError
  return isRefusal ? EXIT.failed : undefined
}

/** What is not about how the command was called, or the project that it was called for. */
const FAULTS: ReadonlySet<StorageErrorCode> = new Set([
  'not-found',
  'no-space',
  'too-many-files',
  'io',
  'closed',
  'cursor-ahead',
])
