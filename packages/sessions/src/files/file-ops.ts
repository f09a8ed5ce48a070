import {
  closeSync,
  fchmodSync,
  fdatasync,
  fstatSync,
  fsync,
  ftruncateSync,
  futimesSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { promisify } from 'node:util'

/**
 * The file operations that everything durable is built on. Writes and reads are synchronous, since small ones are
 * faster so and keep their order by themselves; waiting for the disk is not. Tests hand in a version that fails.
 */
export interface FileOps {
  open(path: string, flags: number): number
  close(fd: number): void
  /** May read less than asked for; 0 is the end. */
  read(fd: number, buffer: Uint8Array, position: number): number
  /** At the end of a file opened with O_APPEND. May write less than asked for. */
  write(fd: number, bytes: Uint8Array): number
  writeAt(fd: number, bytes: Uint8Array, position: number): number
  truncate(fd: number, size: number): void
  stat(fd: number): Stats
  /** Undefined when there is nothing of that name. */
  lstat(path: string): Stats | undefined
  chmod(fd: number, mode: number): void
  setModified(fd: number, at: Date): void
  rename(from: string, to: string): void
  link(from: string, to: string): void
  unlink(path: string): void
  readdir(path: string): string[]
  /** Bytes and size are on the disk. */
  syncData(fd: number): Promise<void>
  /** Everything about the file, or the names in a folder, are on the disk. */
  sync(fd: number): Promise<void>
}

export const PRIVATE_FILE_MODE = 0o600

export const realFileOps: FileOps = {
  open: (path, flags) => openSync(path, flags, PRIVATE_FILE_MODE),
  close: fd => closeSync(fd),
  read: (fd, buffer, position) => readSync(fd, buffer, 0, buffer.length, position),
  write: (fd, bytes) => writeSync(fd, bytes, 0, bytes.length, null),
  writeAt: (fd, bytes, position) => writeSync(fd, bytes, 0, bytes.length, position),
  truncate: (fd, size) => ftruncateSync(fd, size),
  stat: fd => fstatSync(fd),
  lstat: path => lstatSync(path, { throwIfNoEntry: false }),
  chmod: (fd, mode) => fchmodSync(fd, mode),
  setModified: (fd, at) => futimesSync(fd, at, at),
  rename: (from, to) => renameSync(from, to),
  link: (from, to) => linkSync(from, to),
  unlink: path => unlinkSync(path),
  readdir: path => readdirSync(path),
  syncData: promisify(fdatasync),
  sync: promisify(fsync),
}
