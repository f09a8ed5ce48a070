import { EXIT, type ExitCode, exitCodeOfError } from './exit-code.ts'

/**
 * The message for an error that ended a command, and its exit code. Errors are recognised by their name: `run` is
 * bundled separately, so its classes differ from the others.
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
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  switch (error.name) {
    case 'UsageError':
    case 'PersonaError':
    case 'SearchError':
      return EXIT.usage
    case 'HarnessError':
    case 'HarnessNotInstalledError':
    case 'HarnessAuthError':
    case 'HarnessBusyError':
      return exitCodeOfError({ code })
    case 'ServerRefusedError':
      return code === 'budget' ? EXIT.limit : exitCodeOfError({ code })
    case 'StorageError':
    case 'LogError':
      return STORAGE_FAULTS.has(code) ? EXIT.failed : EXIT.usage
    case 'SessionStartError':
      if (code === 'budget') return EXIT.limit
      return error.cause instanceof Error ? (expectedCode(error.cause) ?? EXIT.failed) : EXIT.failed
    case 'ImportError':
    case 'ProjectLockedError':
    case 'SessionBusyError':
      return EXIT.failed
    default:
      return undefined
  }
}

/** Errors that are not about the command line or the project. */
const STORAGE_FAULTS: ReadonlySet<string> = new Set([
  'not-found',
  'no-space',
  'too-many-files',
  'io',
  'closed',
  'cursor-ahead',
])
