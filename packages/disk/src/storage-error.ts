import { CodedError } from '@chirality/core'
import { errnoOf, messageOf } from './errno.ts'

export type StorageErrorCode =
  | 'project-missing'
  | 'project-not-a-directory'
  | 'not-writable'
  | 'unsafe'
  | 'no-space'
  | 'too-many-files'
  | 'invalid-id'
  | 'not-found'
  /** The file changed since the caller read it. */
  | 'changed'
  | 'closed'
  /** The raw log of a run is missing. */
  | 'lost'
  | 'cursor-ahead'
  | 'io'

/** A file or folder cannot be used. The message says what to do. */
export class StorageError extends CodedError<StorageErrorCode> {
  readonly path: string

  constructor(code: StorageErrorCode, path: string, message: string, cause?: unknown) {
    super(code, message, cause)
    this.name = 'StorageError'
    this.path = path
  }
}

export function toStorageError(error: unknown, path: string): StorageError {
  if (error instanceof StorageError) return error
  const { code, message } = describe(error, path)
  return new StorageError(code, path, message, error)
}

/** Converts every error in `work` to a StorageError. */
export async function withStorageErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toStorageError(error, path)
  }
}

function describe(error: unknown, path: string): { code: StorageErrorCode; message: string } {
  switch (errnoOf(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return { code: 'no-space', message: `No space left to write ${path}. Free some; work then goes on.` }
    case 'EACCES':
    case 'EPERM':
      return {
        code: 'not-writable',
        message: `Not allowed to use ${path}. Make it writable for your user or choose another folder.`,
      }
    case 'EROFS':
      return {
        code: 'not-writable',
        message: `${path} is on a read-only disk. Make the disk writable or choose another folder.`,
      }
    case 'EMFILE':
    case 'ENFILE':
      return {
        code: 'too-many-files',
        message: `Too many open files to use ${path}. Close some sessions or raise the limit (ulimit -n).`,
      }
    case 'ELOOP':
      return {
        code: 'unsafe',
        message: `${path} is a symbolic link. Remove it: only real files inside the project are used.`,
      }
    case 'ENOENT':
      return { code: 'not-found', message: `${path} does not exist.` }
    default:
      return { code: 'io', message: `Cannot use ${path}: ${messageOf(error)}` }
  }
}
