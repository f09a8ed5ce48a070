import { stat } from 'node:fs/promises'
import { errnoOf } from '@chirality/disk'
import { checkExecutable } from './resolve-executable.ts'

export type SpawnErrorCode =
  | 'command-missing'
  | 'command-not-executable'
  | 'cwd-missing'
  | 'arguments-too-long'
  | 'too-many-files'
  | 'out-of-resources'
  | 'invalid-argument'
  | 'unknown'

/** The process could not be started. The message says what to do. */
export class SpawnError extends Error {
  readonly code: SpawnErrorCode

  constructor(code: SpawnErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'SpawnError'
    this.code = code
  }
}

export async function toSpawnError(error: unknown, command: string, cwd: string): Promise<SpawnError> {
  // The kernel reports ENOENT for a missing program, interpreter or working folder alike.
  const cwdIsDirectory = await stat(cwd).then(
    stats => stats.isDirectory(),
    () => false,
  )
  if (!cwdIsDirectory) {
    return new SpawnError(
      'cwd-missing',
      `The folder ${cwd} does not exist. Create it or choose another one.`,
      error,
    )
  }
  switch (errnoOf(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'EACCES':
    case 'ENOEXEC':
      return await unusableCommand(error, command)
    case 'E2BIG':
      return new SpawnError(
        'arguments-too-long',
        `The arguments of ${command} are too long for the system. Send long text through stdin or a file.`,
        error,
      )
    case 'EMFILE':
    case 'ENFILE':
      return new SpawnError(
        'too-many-files',
        `Too many open files to start ${command}. Stop some sessions or raise the limit (ulimit -n).`,
        error,
      )
    case 'EAGAIN':
    case 'ENOMEM':
      return new SpawnError(
        'out-of-resources',
        `The system has no room for another process (${command}). Stop some sessions and try again.`,
        error,
      )
    case 'ERR_INVALID_ARG_VALUE':
    case 'ERR_INVALID_ARG_TYPE':
      return new SpawnError('invalid-argument', `Cannot start ${command}: ${messageOf(error)}`, error)
    default:
      return new SpawnError('unknown', `Cannot start ${command}: ${messageOf(error)}`, error)
  }
}

async function unusableCommand(error: unknown, command: string): Promise<SpawnError> {
  const check = await checkExecutable(command)
  if (!check.ok) {
    const code = check.reason === 'missing' ? 'command-missing' : 'command-not-executable'
    return new SpawnError(code, check.message, error)
  }
  return new SpawnError(
    'command-not-executable',
    `${command} cannot be run on this machine: its interpreter (first line) or platform is not available. Reinstall it.`,
    error,
  )
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
