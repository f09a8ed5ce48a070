import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import path from 'node:path'
import { ToolError } from '../built-in-tool.ts'

/**
 * A folder that is held open, so that nobody can put a link in its place between the check and the use. On Linux its
 * entries are reached through the open file; elsewhere the path is checked again after opening.
 */
export class PinnedDirectory {
  /** Where it really is. */
  readonly path: string
  readonly #handle: FileHandle
  readonly #base: string

  private constructor(real: string, handle: FileHandle, base: string) {
    this.path = real
    this.#handle = handle
    this.#base = base
  }

  /** `real` is a path without links. Throws when it is no longer that when it is open. */
  static async open(real: string): Promise<PinnedDirectory> {
    const handle = await open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const throughFd = `/proc/self/fd/${handle.fd}`
      const isLinux = process.platform === 'linux'
      const isThere = isLinux ? (await readlink(throughFd)) === real : await isStill(real, handle)
      if (!isThere) throw new ToolError(`${real} was replaced while it was being opened.`)
      return new PinnedDirectory(real, handle, isLinux ? throughFd : real)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** A path for file operations on an entry. */
  entry(name: string): string {
    return `${this.#base}/${name}`
  }

  /** A path for listing it. */
  get listing(): string {
    return `${this.#base}/`
  }

  /** Opens a regular file, and nothing that could block or act when it is opened. */
  async openFile(name: string, flags = 0): Promise<FileHandle> {
    const shown = path.join(this.path, name)
    const kind = await lstat(this.entry(name))
    if (!kind.isFile()) throw new ToolError(`${shown} is ${nameOfKind(kind)}, not a file.`)
    const handle = await open(this.entry(name), flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    try {
      const info = await handle.stat()
      if (!info.isFile()) throw new ToolError(`${shown} is ${nameOfKind(info)}, not a file.`)
      await this.checkPlace()
      return handle
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** Where entries are reached by path: throws when that path leads elsewhere by now. */
  async checkPlace(): Promise<void> {
    if (this.#base !== this.path || (await isStill(this.path, this.#handle))) return
    throw new ToolError(`${this.path} was replaced while it was in use.`)
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }
}

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants

async function isStill(real: string, handle: FileHandle): Promise<boolean> {
  const [now, info, held] = await Promise.all([realpath(real), lstat(real), handle.stat()])
  return now === real && info.ino === held.ino && info.dev === held.dev
}

interface Kind {
  isDirectory(): boolean
  isSymbolicLink(): boolean
  isFIFO(): boolean
  isSocket(): boolean
  isBlockDevice(): boolean
  isCharacterDevice(): boolean
}

export function nameOfKind(kind: Kind): string {
  if (kind.isDirectory()) return 'a folder'
  if (kind.isSymbolicLink()) return 'a link'
  if (kind.isFIFO()) return 'a pipe'
  if (kind.isSocket()) return 'a socket'
  return kind.isBlockDevice() || kind.isCharacterDevice() ? 'a device' : 'no ordinary file'
}
