import {
  closeSync,
  fchmodSync,
  fdatasync,
  fstatSync,
  fsync,
  fsyncSync,
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
 * The file operations of all durable storage. Reads and writes are synchronous, because small ones are faster this way
 * and stay in order; flushing is asynchronous. Tests pass a failing version.
 */
export interface FileOps {
  /** A new file has the mode 0600 if none is given. */
  open(path: string, flags: number, mode?: number): number
  close(fd: number): void
  /** May read less than requested; 0 is the end. */
  read(fd: number, buffer: Uint8Array, position: number): number
  /** Appends to a file opened with O_APPEND. May write less than requested. */
  write(fd: number, bytes: Uint8Array): number
  writeAt(fd: number, bytes: Uint8Array, position: number): number
  truncate(fd: number, size: number): void
  stat(fd: number): Stats
  /** Undefined when the path does not exist. */
  lstat(path: string): Stats | undefined
  chmod(fd: number, mode: number): void
  setModified(fd: number, at: Date): void
  rename(from: string, to: string): void
  link(from: string, to: string): void
  unlink(path: string): void
  readdir(path: string): string[]
  /** Flushes data and size. */
  syncData(fd: number): Promise<void>
  /** Flushes the file with its metadata, or the entries of a folder. */
  sync(fd: number): Promise<void>
  /** The same for callers that cannot wait. */
  syncNow(fd: number): void
}

export const PRIVATE_FILE_MODE = 0o600

export const realFileOps: FileOps = {
  open: (path, flags, mode = PRIVATE_FILE_MODE) => openSync(path, flags, mode),
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
  syncNow: fd => fsyncSync(fd),
}
