import { realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import {
  errnoOf,
  type FileRequest,
  readSmallFile,
  readTextCarefully,
  realFileOps,
  StorageError,
  temporaryName,
  writeFileNow,
} from '@chirality/disk'

/**
 * Replaces a file of the user and keeps its mode. The temporary file is in `folder`, so that a killed process leaves
 * nothing beside the user's file.
 */
export function replaceUserFile(file: string, text: string, folder: string): void {
  const mode = statSync(file).mode & 0o777
  try {
    writeFileNow(file, text, { mode, temporary: temporaryName(path.join(folder, path.basename(file))) })
  } catch (error) {
    if (errnoOf(error) !== 'EXDEV') throw error
    writeFileNow(file, text, { mode })
  }
}

/**
 * Reads a file. Undefined if it is missing or may be endless: a FIFO, a device, or more than 4 MiB. Only for files that
 * the user named, or in the user's data folder.
 */
export function readIfThere(file: string): string | undefined {
  try {
    return readSmallFile(realFileOps, realpathSync(file), MAX_BYTES)?.toString('utf8')
  } catch (error) {
    if (error instanceof StorageError || NOT_THERE.some(code => isNodeError(error, code))) return undefined
    throw error
  }
}

const MAX_BYTES = 4 * 1024 * 1024
const NOT_THERE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO']

/** A file of a loop in its folder `loops/<id>` of the user's data folder. */
export function loopFile(folder: string, ...parts: string[]): FileRequest {
  const root = path.resolve(folder, '../..')
  return { root, path: path.join(path.relative(root, folder), ...parts), links: 'none', maxBytes: MAX_BYTES }
}

/** Undefined if the file is missing, or not one that a loop wrote. */
export async function readLoopFile(folder: string, ...parts: string[]): Promise<string | undefined> {
  const read = await readTextCarefully(loopFile(folder, ...parts))
  return read === undefined || 'fault' in read ? undefined : read.text
}

/** File name of one iteration in `prompts` and `outputs`. */
export function iterationFile({ task, iterations }: IteratedTask, n = iterations): string {
  return `${task.id}-${n}.md`
}

interface IteratedTask {
  task: { id: string }
  iterations: number
}

/**
 * Reads a task list or receipt that the user may have named, anywhere, also through a link. Undefined if it cannot be
 * read.
 */
export async function readNamedFile(file: string): Promise<string | undefined> {
  const read = await readTextCarefully({ root: '/', path: file, links: 'inside', maxBytes: MAX_BYTES })
  return read === undefined || 'fault' in read ? undefined : read.text
}

export function isNodeError(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code
}
