import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import path from 'node:path'
import { ToolError } from '../built-in-tool.ts'

/**
 * A folder that is held open, so that it cannot be replaced by a symlink between check and use. On Linux its entries
 * are reached through the open descriptor; elsewhere the path is checked again after opening.
 */
export class PinnedDirectory {
  /** The resolved path. */
  readonly path: string
  readonly #handle: FileHandle
  readonly #base: string

  private constructor(real: string, handle: FileHandle, base: string) {
    this.path = real
    this.#handle = handle
    this.#base = base
  }

  /** `real` is a resolved path. Throws when the opened folder is at another path. */
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

  entry(name: string): string {
    return `${this.#base}/${name}`
  }

  get listing(): string {
    return `${this.#base}/`
  }

  /** Opens a regular file. Refuses anything that could block, or has an effect when opened. */
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

  /** On systems that reach entries by path: throws when the path now leads elsewhere. */
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
