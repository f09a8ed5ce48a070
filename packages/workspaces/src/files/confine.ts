import { lstat, realpath } from 'node:fs/promises'
import path from 'node:path'
import type { CodedError } from '@chirality/core'
import { errnoOf } from '@chirality/disk'
import { workspaceError } from '../workspace-error.ts'

/** The real path of a file in a project. Neither `..` nor a link can lead out of it, or into `.chirality` or `.git`. */
export async function confine(root: string, relative: string): Promise<string> {
  if (relative.includes('\0') || path.isAbsolute(relative)) throw outside(relative)
  const wanted = path.resolve(root, relative)
  requireInside(root, wanted, relative)
  const real = await realpath(wanted).catch(() => {
    throw workspaceError('file-missing', `${relative || '.'} does not exist.`)
  })
  requireInside(root, real, relative)
  return real
}

/**
 * Checks the path after opening: a folder on the way may have been replaced by a link. If the system does not report
 * the path of an open file, the path is resolved again.
 */
export async function requireStillInside(
  root: string,
  relative: string,
  opened: { fd: number; dev: number; ino: number },
): Promise<void> {
  const real = await realpath(`/proc/self/fd/${opened.fd}`).catch(() => undefined)
  if (real !== undefined) return requireInside(root, real, relative)
  const again = await confine(root, relative)
  const { dev, ino } = await lstat(again)
  if (dev !== opened.dev || ino !== opened.ino) throw outside(relative)
}

/** A file system error as a message for the caller. */
export function toFileError(error: unknown, relative: string): unknown {
  const name = relative || '.'
  switch (errnoOf(error)) {
    case 'ENOENT':
      return workspaceError('file-missing', `${name} does not exist.`)
    case 'EACCES':
    case 'EPERM':
      return workspaceError('file-unreadable', `${name} cannot be read by your user. Change its permissions.`)
    case 'ENOTDIR':
      return workspaceError('not-a-folder', `${name} is not a folder.`)
    case 'ENXIO':
    case 'ELOOP':
    case 'EOPNOTSUPP':
      return workspaceError('not-a-file', `${name} is not a file.`)
    case 'EMFILE':
    case 'ENFILE':
      return workspaceError('too-many-files', 'Too many files are open. Try again.')
    default:
      return error
  }
}

/** Folders that are not shown: git's own, and `.chirality` with the transcripts of all sessions. */
export const HIDDEN_FOLDERS: ReadonlySet<string> = new Set(['.git', '.chirality'])

function requireInside(root: string, file: string, relative: string): void {
  const inside = path.relative(root, file)
  const parts = inside.split(path.sep)
  const [first = ''] = parts
  // A nested repository has its own `.git`, with remote addresses and credentials.
  const isHidden =
    HIDDEN_FOLDERS.has(first.toLowerCase()) || parts.some(part => part.toLowerCase() === '.git')
  if (first === '..' || path.isAbsolute(inside) || isHidden) throw outside(relative)
}

function outside(relative: string): CodedError {
  return workspaceError('outside-project', `${JSON.stringify(relative.slice(0, 200))} is not in the project.`)
}
