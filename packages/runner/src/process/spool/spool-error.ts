import { errnoOf, messageOf, StorageError, type StorageErrorCode } from '@chirality/disk'

/** The raw log cannot be kept, so the agent is not started. The message says what to do. */
export class SpoolError extends StorageError {
  constructor(code: StorageErrorCode, path: string, message: string, cause?: unknown) {
    super(code, path, message, cause)
    this.name = 'SpoolError'
  }
}

export function toSpoolError(error: unknown, path: string): SpoolError {
  if (error instanceof SpoolError) return error
  if (error instanceof StorageError) {
    const { cause, code, message } = error
    return cause === undefined ? new SpoolError(code, error.path, message) : toSpoolError(cause, error.path)
  }
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
    default:
      return new SpoolError('io', path, `Cannot write ${path}: ${messageOf(error)}`, error)
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
