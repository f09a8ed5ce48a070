import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { ensurePrivateDirectory, errnoOf } from '@chirality/runner'
import { writeFileAtomic } from './atomic-write.ts'
import type { FileOps } from './file-ops.ts'
import { OPEN, openRegular, readFully } from './read-write.ts'
import { realPath } from './real-path.ts'

/** A file in the user's data folder that says something about a project. */
export interface OwnFile {
  /** The user's data folder. */
  home: string
  /** The real path of the project. */
  root: string
  path: string
  ops: FileOps
}

/** Its text, or why it cannot be taken for the user's word. Undefined if there is none. */
export function readOwnFile(
  { home, root, path, ops }: OwnFile,
  maxBytes: number,
): { text: string } | { problem: string } | undefined {
  if (isInProject({ home, root })) return { problem: IN_PROJECT }
  try {
    const fd = openRegular(ops, path, OPEN.read)
    try {
      const { size, uid, mode } = ops.stat(fd)
      const isOthers = process.getuid !== undefined && uid !== process.getuid()
      if (isOthers || (mode & 0o022) !== 0) return { problem: 'Others can write it, so it is not used.' }
      if (size > maxBytes) return { problem: 'It is too large.' }
      const bytes = readFully(ops, fd, { buffer: Buffer.allocUnsafe(size), position: 0 })
      return { text: bytes.toString('utf8') }
    } finally {
      ops.close(fd)
    }
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? undefined : { problem: 'It cannot be read.' }
  }
}

/** What lies in the project an agent, or the project's author, can write. */
export function isInProject({ home, root }: Pick<OwnFile, 'home' | 'root'>): boolean {
  return `${realPath(home)}/`.startsWith(root === '/' ? root : `${root}/`)
}

export const IN_PROJECT = 'It lies in the project itself, where agents can write.'

/** Whole or not at all, and readable for the user only. */
export async function writeOwnFile({ home, path, ops }: Omit<OwnFile, 'root'>, text: string): Promise<void> {
  await mkdir(dirname(home), { recursive: true })
  await ensurePrivateDirectory(home)
  await ensurePrivateDirectory(dirname(path))
  await writeFileAtomic(path, text, { ops })
}
