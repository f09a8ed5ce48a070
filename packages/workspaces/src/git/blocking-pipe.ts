import { constants } from 'node:fs'
import { type FileHandle, open, opendir } from 'node:fs/promises'
import path from 'node:path'

/**
 * Files that git opens in any folder of a project. It waits for ever if one is a named pipe, and follows no links
 * there.
 */
const READ_BY_GIT = new Set(['.gitignore', '.gitattributes', '.gitmodules', '.mailmap'])

export interface BlockingPipe {
  /** Path below the top of the repository. */
  path: string
  /** Closes the pipe. Until then its reader waits. */
  release(): Promise<void>
}

/**
 * Finds the named pipe that a git process in this repository waits for, if any. A clone cannot contain one, but an
 * archive or an agent can make one. Looks only at names, at most `MAX_ENTRIES` of them, upper folders first.
 */
export async function findBlockingPipe(top: string, signal: AbortSignal): Promise<BlockingPipe | undefined> {
  const folders = ['']
  let left = MAX_ENTRIES
  for (const folder of folders) {
    const entries = await opendir(path.join(top, folder)).catch(() => undefined)
    if (entries === undefined) continue
    try {
      for await (const entry of entries) {
        left -= 1
        if (signal.aborted || left < 0) return undefined
        const below = path.join(folder, entry.name)
        const isOfGit = below.split(path.sep)[0] === '.git'
        if (entry.isDirectory() && !OBJECTS.test(below)) folders.push(below)
        if (!entry.isFIFO() || !(isOfGit || READ_BY_GIT.has(entry.name))) continue
        const reached = await openAsWriter(path.join(top, below))
        if (reached !== undefined) return { path: below, release: () => reached.close() }
      }
    } catch {
      // The folder was removed meanwhile, or is unreadable: git cannot wait there.
    }
  }
  return undefined
}

const MAX_ENTRIES = 200_000
const OBJECTS = /^\.git\/objects\/[0-9a-f]{2}$/

/** Opens the pipe for writing. Undefined if it has no reader: the non-blocking open fails then. */
async function openAsWriter(file: string): Promise<FileHandle | undefined> {
  const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
  return open(file, flags).catch(() => undefined)
}
