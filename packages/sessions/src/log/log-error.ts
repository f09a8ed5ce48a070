import { StorageError, type StorageErrorCode, toStorageError } from '../files/storage-error.ts'

/** The session log cannot take or give events. Nothing that was acknowledged is lost by it. */
export class LogError extends StorageError {
  constructor(code: StorageErrorCode, path: string, message: string, cause?: unknown) {
    super(code, path, message, cause)
    this.name = 'LogError'
  }
}

export function toLogError(error: unknown, path: string): LogError {
  if (error instanceof LogError) return error
  const { code, message } = toStorageError(error, path)
  return new LogError(code, path, message, error)
}
