import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  openSync,
  readSync,
  rmSync,
  type Stats,
  symlinkSync,
  writeSync,
} from 'node:fs'
import { errnoOf } from '@chirality/disk'

export interface DiskFile {
  mode: '100644' | '100755' | '120000'
  content: Buffer
}

/**
 * Opened non-blocking and without following links: another file may be in its place by now. Bytes added meanwhile are
 * left out.
 */
export function readRegular(place: Buffer | string, size: number): Buffer {
  const handle = openSync(place, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    if (!fstatSync(handle).isFile()) throw Object.assign(new Error('No regular file.'), { code: 'EINVAL' })
    const content = Buffer.allocUnsafe(size)
    let at = 0
    for (let read = -1; at < size && read !== 0; at += read)
      read = readSync(handle, content, at, size - at, null)
    return content.subarray(0, at)
  } finally {
    closeSync(handle)
  }
}

export function writeNew(place: Buffer | string, file: DiskFile, permissions: number | undefined): void {
  try {
    create(place, file, permissions)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    // A leftover of a killed process.
    rmSync(place, { force: true })
    create(place, file, permissions)
  }
}

function create(place: Buffer | string, { mode, content }: DiskFile, permissions: number | undefined): void {
  if (mode === '120000') return symlinkSync(content, place)
  const handle = openSync(place, 'wx', permissions ?? (mode === '100755' ? 0o777 : 0o666))
  try {
    for (let at = 0; at < content.length; ) at += writeSync(handle, content, at)
    // The user's mask applies to new files only.
    if (permissions !== undefined) fchmodSync(handle, permissions)
  } finally {
    closeSync(handle)
  }
}

export function treeMode(facts: Stats): DiskFile['mode'] {
  if (facts.isSymbolicLink()) return '120000'
  return facts.mode & 0o100 ? '100755' : '100644'
}

export function withExecutable(permissions: number, executable: boolean): number {
  return executable ? permissions | ((permissions & 0o444) >> 2) : permissions & ~0o111
}

export function filePermissions(facts: Stats | undefined): { permissions?: number } {
  return facts?.isFile() ? { permissions: facts.mode & 0o777 } : {}
}

/** Null if there is no file. */
export function markOf(facts: Stats | undefined): string | null {
  if (facts === undefined || facts.isDirectory()) return null
  const { ino, size, mode, mtimeMs, ctimeMs } = facts
  return [ino, size, mode, mtimeMs, ctimeMs].join(' ')
}
