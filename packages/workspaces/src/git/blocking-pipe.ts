import { constants } from 'node:fs'
import { type FileHandle, open, opendir } from 'node:fs/promises'
import path from 'node:path'

/** Git opens these in any folder of a project, and waits for ever if one is a named pipe. It follows no link there. */
const READ_BY_GIT = new Set(['.gitignore', '.gitattributes', '.gitmodules', '.mailmap'])

export interface BlockingPipe {
  /** Below the top of the repository. */
  path: string
  /** Until then whoever reads it waits. */
  release(): Promise<void>
}

/**
 * The named pipe that a git in this repository waits for, if there is one: a clone cannot bring it, an archive or an
 * agent can. Looks only at names, at most `MAX_ENTRIES` of them, the upper folders first.
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
      // The folder was removed meanwhile, or may not be read: git cannot wait there.
    }
  }
  return undefined
}

const MAX_ENTRIES = 200_000
const OBJECTS = /^\.git\/objects\/[0-9a-f]{2}$/

/** Undefined if nobody reads it: then opening it to write fails instead of waiting. */
async function openAsWriter(file: string): Promise<FileHandle | undefined> {
  const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
  return open(file, flags).catch(() => undefined)
}
