import { CodedError } from '@chirality/core'
import { errnoOf } from '../../common/errno.ts'

export type SpoolErrorCode =
  | 'project-missing'
  | 'project-not-a-directory'
  | 'not-writable'
  | 'unsafe'
  /** The run had a raw log, but it was deleted or truncated. */
  | 'lost'
  | 'no-space'
  | 'too-many-files'
  | 'io'

/** The raw log cannot be kept, so the agent is not started. The message says what to do. */
export class SpoolError extends CodedError<SpoolErrorCode> {
  readonly path: string

  constructor(code: SpoolErrorCode, path: string, message: string, cause?: unknown) {
    super(code, message, cause)
    this.name = 'SpoolError'
    this.path = path
  }
}

export function toSpoolError(error: unknown, path: string): SpoolError {
  if (error instanceof SpoolError) return error
  switch (errnoOf(error)) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new SpoolError(
        'not-writable',
        path,
        `Cannot write to ${path}. Chirality keeps each agent's raw log in the project; make the folder writable or choose another project.`,
        error,
      )
    case 'ENOSPC':
    case 'EDQUOT':
      return new SpoolError(
        'no-space',
        path,
        `No space left to write ${path}. Free some and try again.`,
        error,
      )
    case 'EMFILE':
    case 'ENFILE':
      return new SpoolError(
        'too-many-files',
        path,
        'Too many open files to keep another raw log. Stop some sessions or raise the limit (ulimit -n).',
        error,
      )
    case 'ELOOP':
      return unsafeSymlink(path, error)
    default: {
      const reason = error instanceof Error ? error.message : String(error)
      return new SpoolError('io', path, `Cannot write ${path}: ${reason}`, error)
    }
  }
}

export function unsafeSymlink(path: string, cause?: unknown): SpoolError {
  return new SpoolError(
    'unsafe',
    path,
    `${path} is a symbolic link. Remove it: logs are written only to real folders inside the project.`,
    cause,
  )
}
