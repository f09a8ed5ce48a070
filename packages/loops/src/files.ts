import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { temporaryName } from '@chirality/sessions'

/** Replaces a file in one step. */
export function replaceFile(file: string, text: string): void {
  const temporary = temporaryName(file)
  write(temporary, text, 0o600)
  renameSync(temporary, file)
}

/**
 * The same for a file of the user's, with the mode that it had. What a killed process leaves of it is in `folder`, and
 * not beside the file.
 */
export function replaceUserFile(file: string, text: string, folder: string): void {
  const { mode } = statSync(file)
  const temporary = temporaryName(path.join(folder, path.basename(file)))
  write(temporary, text, mode & 0o777)
  try {
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary)
    if (!isNodeError(error, 'EXDEV')) throw error
    const beside = temporaryName(file)
    write(beside, text, mode & 0o777)
    renameSync(beside, file)
  }
}

function write(temporary: string, text: string, mode: number): void {
  const { O_WRONLY, O_CREAT, O_EXCL } = constants
  const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL, mode)
  try {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Undefined if there is no such file, or something that may have no end: a FIFO, a device. */
export function readIfThere(file: string): string | undefined {
  try {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      return fstatSync(fd).isFile() ? readFileSync(fd, 'utf8') : undefined
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    if (isNodeError(error, 'ENOENT') || isNodeError(error, 'ENOTDIR')) return undefined
    throw error
  }
}

export function isNodeError(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code
}
