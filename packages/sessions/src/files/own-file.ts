import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { FileOps } from '@chirality/disk'
import {
  changeFile,
  ensurePrivateDirectory,
  errnoOf,
  OPEN,
  openRegular,
  readFully,
  withStorageErrors,
  writeFileAtomic,
} from '@chirality/disk'
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

/**
 * Its text, or why it cannot be taken for the user's word. Undefined if there is none. Without a `root` it is about no
 * project.
 */
export function readOwnFile(
  { home, root, path, ops }: Omit<OwnFile, 'root'> & Partial<Pick<OwnFile, 'root'>>,
  maxBytes: number,
): { text: string } | { problem: string } | undefined {
  if (root !== undefined && isInProject({ home, root })) return { problem: IN_PROJECT }
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
export async function writeOwnFile(file: Omit<OwnFile, 'root'>, text: string): Promise<void> {
  await ensureFolder(file)
  await writeFileAtomic(file.path, text, { ops: file.ops })
}

/** A change that reads the file and writes it anew, while no other process does so. */
export async function changeOwnFile<T>(file: Omit<OwnFile, 'root'>, change: () => Promise<T>): Promise<T> {
  await withStorageErrors(file.path, () => ensureFolder(file))
  return changeFile(file.path, change, { ops: file.ops })
}

async function ensureFolder({ home, path }: Omit<OwnFile, 'root'>): Promise<void> {
  await mkdir(dirname(home), { recursive: true })
  await ensurePrivateDirectory(home)
  await ensurePrivateDirectory(dirname(path))
}
