import { EXIT, type ExitCode, exitCodeOfError } from './exit-code.ts'

/**
 * What a person is told about an error that ended a command, and the exit code for it. Errors are known by their name: `run`
 * is bundled by itself, so its classes are not those of the rest.
 */
export function explain(error: unknown): { message: string; code: ExitCode } {
  if (error instanceof Error) {
    const code = expectedCode(error)
    const hint = error.name === 'UsageError' ? '\nSee `chirality --help`.' : ''
    if (code !== undefined) return { message: `chirality: ${error.message}${hint}\n`, code }
  }
  // A fault of ours: whoever reports it needs to say where.
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { message: `chirality: ${text}\n`, code: EXIT.failed }
}

/** Undefined for an error that nobody expected. */
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

/** What is not about how the command was called, or the project that it was called for. */
const STORAGE_FAULTS: ReadonlySet<string> = new Set([
  'not-found',
  'no-space',
  'too-many-files',
  'io',
  'closed',
  'cursor-ahead',
])
