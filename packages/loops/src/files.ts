import { closeSync, constants, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { temporaryName } from '@chirality/sessions'

/** Replaces a file in one step, with the mode that it had. */
export function replaceFile(file: string, text: string, mode = 0o600): void {
  const { O_WRONLY, O_CREAT, O_EXCL } = constants
  const temporary = temporaryName(file)
  const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL, mode)
  try {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(temporary, file)
}

/** Undefined if there is no such file. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (isNodeError(error, 'ENOENT') || isNodeError(error, 'ENOTDIR')) return undefined
    throw error
  }
}

export function isNodeError(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code
}
