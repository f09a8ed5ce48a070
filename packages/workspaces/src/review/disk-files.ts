import {
  chmod,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  rmdir,
  symlink,
  writeFile,
} from 'node:fs/promises'
import path from 'node:path'
import { errnoOf } from '@chirality/runner'
import { objectId } from '../git/edited-tree.ts'
import type { GitRepository } from '../git/git.ts'
import { workspaceError } from '../workspace-error.ts'

/** A file as a tree of git has it. */
export interface TreeFile {
  mode: string
  id: string
}

export interface DiskFile {
  mode: '100644' | '100755' | '120000'
  content: Buffer
}

/**
 * The files of a work tree, byte for byte: no filter and no line ending is converted. Names are `latin1` strings of
 * their bytes, because a name need not be UTF-8.
 */
export class DiskFiles {
  readonly #top: string

  constructor({ top }: Pick<GitRepository, 'top'>) {
    this.#top = Buffer.from(top).toString('latin1')
  }

  /** Undefined if there is no file: a folder in its place, or a link in the place of one of its folders. Throws for a device. */
  async read(name: string): Promise<DiskFile | undefined> {
    const place = await this.#place(name)
    if (place === undefined) return undefined
    const facts = await lstat(place).catch(missing)
    if (facts === undefined) return undefined
    if (facts.isSymbolicLink())
      return { mode: '120000', content: await readlink(place, { encoding: 'buffer' }) }
    // A folder in place of the file: the file is gone.
    if (facts.isDirectory()) return undefined
    if (!facts.isFile()) throw refusedFile(name, 'is no regular file')
    if (facts.size > MAX_FILE_BYTES) throw refusedFile(name, `has more than ${MAX_FILE_BYTES} bytes`)
    return { mode: facts.mode & 0o100 ? '100755' : '100644', content: await readFile(place) }
  }

  /** False where git would see no file of this name, but may refuse to look: in the place of a folder, and behind a link. */
  async has(name: string): Promise<boolean> {
    const place = await this.#place(name)
    const facts = place && (await lstat(place).catch(missing))
    if (!facts?.isDirectory()) return facts !== undefined
    // A repository of its own.
    return (await lstat(this.#bytes(`${name}/.git`)).catch(missing)) !== undefined
  }

  /** Replaces a file in one step: a process that is killed leaves the old or the new one. Undefined removes it. */
  async write(name: string, file: DiskFile | undefined): Promise<void> {
    const place = await this.#place(name)
    if (file === undefined) {
      if (place === undefined) return
      await rm(place, { force: true })
      await this.#removeEmptyFolders(name)
      return
    }
    const way = await this.inTheWay(name, new Set())
    if (way !== undefined) throw refusedFile(name, `cannot be written, because of ${shownName(way)}`)
    await mkdir(this.#folder(name), { recursive: true })
    const temporary = this.#temporary(name)
    await rm(temporary, { force: true })
    try {
      await this.#replace(this.#bytes(name), temporary, file)
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  async #replace(target: Buffer, temporary: Buffer, { mode, content }: DiskFile): Promise<void> {
    if (mode === '120000') await symlink(content, temporary)
    else {
      await writeFile(temporary, content, { flag: 'wx' })
      const facts = await lstat(temporary)
      const executable = facts.mode | ((facts.mode & 0o444) >> 2)
      await chmod(temporary, mode === '100755' ? executable : facts.mode & ~0o111)
    }
    // An empty folder may be left where a file was before.
    await rmdir(target).catch(() => {})
    await rename(temporary, target)
  }

  /** What a killed process left of this file. */
  async clean(name: string): Promise<void> {
    if ((await this.#place(name)) !== undefined) await rm(this.#temporary(name), { force: true })
  }

  /**
   * What keeps a file of this name from being written once the files of `leaving` are removed: a file in the place of one
   * of its folders, or what else is in a folder in its own place.
   */
  async inTheWay(name: string, leaving: ReadonlySet<string>): Promise<string | undefined> {
    for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1)) {
      const parent = name.slice(0, at)
      const facts = await lstat(this.#bytes(parent)).catch(missing)
      if (facts === undefined) return undefined
      if (!facts.isDirectory()) return leaving.has(parent) ? undefined : parent
    }
    // A link to a folder is replaced like a file.
    const facts = await lstat(this.#bytes(name)).catch(missing)
    return facts?.isDirectory() ? this.#staying(name, leaving) : undefined
  }

  /** The first of what is in a folder and does not leave. Only folders that a leaving file was in are removed with it. */
  async #staying(folder: string, leaving: ReadonlySet<string>): Promise<string | undefined> {
    const options = { encoding: 'latin1', withFileTypes: true } as const
    for (const entry of await readdir(this.#bytes(folder), options)) {
      const name = `${folder}/${entry.name}`
      if (leaving.has(name)) continue
      if (!entry.isDirectory() || ![...leaving].some(one => one.startsWith(`${name}/`))) return name
      const inside = await this.#staying(name, leaving)
      if (inside !== undefined) return inside
    }
    return undefined
  }

  /** Undefined if a parent is missing, or is a file or a link. */
  async #place(name: string): Promise<Buffer | undefined> {
    const parts = name.split('/')
    if (parts.some(part => part === '' || part === '.' || part === '..' || part.toLowerCase() === '.git'))
      throw refusedFile(name, 'is not a name that a repository may have')
    for (let depth = 1; depth < parts.length; depth += 1) {
      const facts = await lstat(this.#bytes(parts.slice(0, depth).join('/'))).catch(missing)
      if (!facts?.isDirectory()) return undefined
    }
    return this.#bytes(name)
  }

  async #removeEmptyFolders(name: string): Promise<void> {
    for (let folder = path.posix.dirname(name); folder !== '.'; folder = path.posix.dirname(folder)) {
      try {
        await rmdir(this.#bytes(folder))
      } catch {
        return
      }
    }
  }

  #temporary(name: string): Buffer {
    const folder = path.posix.dirname(name)
    const own = `.${path.posix.basename(name).slice(0, 100)}.chirality-moving`
    return this.#bytes(folder === '.' ? own : `${folder}/${own}`)
  }

  #folder(name: string): Buffer {
    return this.#bytes(path.posix.dirname(name))
  }

  #bytes(name: string): Buffer {
    return Buffer.from(`${this.#top}/${name}`, 'latin1')
  }
}

/** The id that git gives this content. `like` is any id of the same repository. */
export function blobId(content: Buffer, like: string): string {
  return objectId('blob', content, like)
}

/** As people read it. */
export function shownName(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8')
}

export function byteName(name: string): string {
  return Buffer.from(name, 'utf8').toString('latin1')
}

const MAX_FILE_BYTES = 256 * 1024 * 1024

function refusedFile(name: string, why: string) {
  return workspaceError('review-refused', `${shownName(name)} ${why}. Nothing was changed.`)
}

function missing(error: unknown): undefined {
  if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined
  throw error
}
