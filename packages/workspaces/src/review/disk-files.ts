import { lstatSync, mkdirSync, readlinkSync, renameSync, rmdirSync, rmSync, type Stats } from 'node:fs'
import { lstat, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { errnoOf } from '@chirality/disk'
import { objectId } from '../git/edited-tree.ts'
import { type GitRepository, git } from '../git/git.ts'
import { workspaceError } from '../workspace-error.ts'
import { type GitObject, storeObjects } from './object-pack.ts'
import {
  type DiskFile,
  filePermissions,
  markOf,
  readRegular,
  treeMode,
  withExecutable,
  writeNew,
} from './one-file.ts'
import { BATCH_BYTES } from './read-objects.ts'

/** A file as a tree of git has it. */
export interface TreeFile {
  mode: string
  id: string
}

/** A file to write. Without `permissions` it gets those of the file that it replaces, or the usual ones. */
export interface NewDiskFile extends DiskFile {
  permissions?: number | undefined
}

/** A file as it was found. An equal `mark` guarantees equal content. */
export interface SeenFile {
  /** Null if there is no file: also for a folder in its place, or a link in the place of one of its parents. */
  file: TreeFile | null
  mark: string | null
  /** Permissions of a regular file. */
  permissions?: number
  /** Content, kept for as many files as fit into memory. */
  content?: Buffer
}

/**
 * The files of a work tree, byte for byte: no filter and no line ending is converted. Names are `latin1` strings of
 * their bytes, because they need not be UTF-8.
 */
export class DiskFiles {
  readonly #repository: GitRepository
  readonly #top: string

  constructor(repository: GitRepository) {
    this.#repository = repository
    this.#top = Buffer.from(repository.top).toString('latin1')
  }

  /**
   * Reads many files. `like` is any id of the repository. Works synchronously in slices, as `write` does. Throws for a
   * device.
   */
  async look(names: readonly string[], like: string): Promise<Map<string, SeenFile>> {
    const folders: KnownFolders = new Map()
    const seen = new Map<string, SeenFile>()
    const large: string[] = []
    let room = KEPT_BYTES
    await inSlices(names, name => {
      const facts = this.#factsOf(name, folders)
      const found: SeenFile = { file: null, mark: markOf(facts), ...filePermissions(facts) }
      seen.set(name, found)
      if (facts === undefined || facts.isDirectory()) return
      if (isLarge(name, facts)) {
        large.push(name)
        return
      }
      const content = this.#contentOf(name, facts)
      found.file = { mode: treeMode(facts), id: objectId('blob', content, like) }
      // Two changes within one tick of the clock leave the same mark, so a fresh file is read again when it is stored.
      if (content.length > room || Date.now() - facts.ctimeMs < FRESH_MS) return
      room -= content.length
      found.content = content
    })
    const ids = await this.#hash(large, false)
    for (const [index, name] of large.entries()) {
      const found = seen.get(name)
      if (found === undefined) continue
      found.file = { mode: (found.permissions ?? 0) & 0o100 ? '100755' : '100644', id: ids[index] ?? '' }
    }
    return seen
  }

  /**
   * Stores the contents in the user's repository, except those in `stored`, together with `besides`. Throws if a file
   * that has to be read for this has changed.
   */
  async store(
    seen: ReadonlyMap<string, SeenFile>,
    { stored, besides }: { stored: ReadonlyMap<string, unknown>; besides: readonly GitObject[] },
  ): Promise<void> {
    const folders: KnownFolders = new Map()
    const large: { name: string; id: string }[] = []
    const known = new Set(stored.keys())
    let blobs: GitObject[] = []
    let bytes = 0
    const send = async () => {
      await storeObjects(this.#repository, blobs)
      blobs = []
      bytes = 0
    }
    for (const [name, { file, content: kept }] of seen) {
      if (file === null || known.has(file.id)) continue
      known.add(file.id)
      const facts = kept === undefined ? this.#factsOf(name, folders) : undefined
      if (facts !== undefined && isLarge(name, facts)) {
        large.push({ name, id: file.id })
        continue
      }
      const content = kept ?? this.#contentOf(name, facts)
      if (kept === undefined && objectId('blob', content, file.id) !== file.id) throw changedWhileRead()
      blobs.push({ id: file.id, content })
      bytes += content.length
      if (bytes > BATCH_BYTES) await send()
      // Lets other tasks run.
      else if (blobs.length % SLICE === 0) await setImmediate()
    }
    blobs = [...blobs, ...besides]
    await send()
    const names = large.map(({ name }) => name)
    const ids = await this.#hash(names, true)
    if (large.some(({ id }, index) => ids[index] !== id)) throw changedWhileRead()
  }

  /** Content of a regular file, or the target of a link. */
  #contentOf(name: string, facts: Stats | undefined): Buffer {
    if (facts === undefined) throw changedWhileRead()
    if (!facts.isFile() && !facts.isSymbolicLink()) throw refusedFile(name, 'is no regular file')
    try {
      return facts.isFile()
        ? readRegular(this.#bytes(name), facts.size)
        : readlinkSync(this.#bytes(name), { encoding: 'buffer' })
    } catch (error) {
      const why = errnoOf(error)
      throw REPLACED.has(why ?? '') ? changedWhileRead() : refusedFile(name, `cannot be read (${why})`)
    }
  }

  async #hash(names: readonly string[], store: boolean): Promise<string[]> {
    if (names.length === 0) return []
    // The prefix `./` keeps git from taking a leading quotation mark for quoting.
    const input = Buffer.from(names.map(name => `./${name}\n`).join(''), 'latin1')
    const args = ['hash-object', ...(store ? ['-w'] : []), '--no-filters', '--stdin-paths']
    const output = await git(this.#repository, args, {
      input,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_IDS_BYTES,
    })
    const ids = output.toString('latin1').trimEnd().split('\n')
    if (ids.length !== names.length) throw changedWhileRead()
    return ids
  }

  /**
   * True if the file exists. Also answers where git may refuse to look: in the place of a folder, and behind a link.
   */
  has(name: string, folders: KnownFolders): boolean {
    const facts = this.#factsOf(name, folders)
    if (!facts?.isDirectory()) return facts !== undefined
    // A nested repository.
    return lstatSync(this.#bytes(`${name}/.git`), { throwIfNoEntry: false }) !== undefined
  }

  /**
   * Replaces a file atomically: a killed process leaves the old or the new one. Undefined removes it. False, with
   * nothing changed, if the file has changed since it was seen. Synchronous, because awaiting each of ten thousand
   * files takes longer than writing them; the caller lets other tasks run in between. The caller keeps `folders` for
   * one run.
   */
  write(name: string, seen: SeenFile, file: NewDiskFile | undefined, folders: KnownFolders): boolean {
    const facts = this.#factsOf(name, folders)
    if (markOf(facts) !== seen.mark) return false
    if (file === undefined) {
      if (facts === undefined) return true
      rmSync(this.#bytes(name), { force: true })
      this.#removeEmptyFolders(name, folders)
      return true
    }
    this.#makeFolder(name, folders)
    const known = file.permissions ?? filePermissions(facts).permissions
    const exact = known === undefined ? undefined : withExecutable(known, file.mode === '100755')
    const temporary = this.#temporary(name)
    try {
      writeNew(temporary, file, exact)
      // An empty folder may be left in the place of an earlier file.
      if (facts?.isDirectory()) rmdirSync(this.#bytes(name))
      renameSync(temporary, this.#bytes(name))
    } catch (error) {
      rmSync(temporary, { force: true })
      throw error
    }
    return true
  }

  #makeFolder(name: string, folders: KnownFolders): void {
    const folder = path.posix.dirname(name)
    if (folder === '.' || folders.get(folder) === true) return
    const way = this.#fileInParents(name, folders)
    if (way !== undefined) throw refusedFile(name, `cannot be written, because of ${shownName(way)}`)
    mkdirSync(this.#bytes(folder), { recursive: true })
    for (let at = folder; at !== '.'; at = path.posix.dirname(at)) folders.set(at, true)
  }

  /** Removes the temporary file that a killed process left. */
  async clean(name: string): Promise<void> {
    if ((await this.#place(name)) !== undefined) await rm(this.#temporary(name), { force: true })
  }

  /**
   * The file that blocks writing `name` after the files of `leaving` are removed: one in the place of a parent folder,
   * or one in a folder that has the name itself.
   */
  async inTheWay(
    name: string,
    leaving: ReadonlySet<string>,
    folders: KnownFolders,
  ): Promise<string | undefined> {
    const parent = this.#fileInParents(name, folders)
    if (parent !== undefined) return leaving.has(parent) ? undefined : parent
    // A link to a folder is replaced like a file.
    const facts = this.#factsOf(name, folders)
    return facts?.isDirectory() ? this.#staying(name, leaving) : undefined
  }

  /** The first parent that exists and is not a folder. */
  #fileInParents(name: string, folders: KnownFolders): string | undefined {
    for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1)) {
      const parent = name.slice(0, at)
      if (this.#isFolder(parent, folders)) continue
      return lstatSync(this.#bytes(parent), { throwIfNoEntry: false }) === undefined ? undefined : parent
    }
    return undefined
  }

  #isFolder(name: string, folders: KnownFolders): boolean {
    const known = folders.get(name)
    if (known !== undefined) return known
    const facts = present(() => lstatSync(this.#bytes(name), { throwIfNoEntry: false }))
    folders.set(name, facts?.isDirectory() === true)
    return facts?.isDirectory() === true
  }

  /** Undefined if nothing is there, or a parent is missing, a file or a link. */
  #factsOf(name: string, folders: KnownFolders): Stats | undefined {
    requireName(name)
    for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1))
      if (!this.#isFolder(name.slice(0, at), folders)) return undefined
    return present(() => lstatSync(this.#bytes(name), { throwIfNoEntry: false }))
  }

  /**
   * The first entry of a folder that is not leaving. Only folders that contained a leaving file are removed with it.
   */
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

  /** Undefined if a parent is missing, a file or a link. */
  async #place(name: string): Promise<Buffer | string | undefined> {
    requireName(name)
    const parts = name.split('/')
    for (let depth = 1; depth < parts.length; depth += 1) {
      const facts = await lstat(this.#bytes(parts.slice(0, depth).join('/'))).catch(missing)
      if (!facts?.isDirectory()) return undefined
    }
    return this.#bytes(name)
  }

  #removeEmptyFolders(name: string, folders: KnownFolders): void {
    for (let folder = path.posix.dirname(name); folder !== '.'; folder = path.posix.dirname(folder)) {
      try {
        rmdirSync(this.#bytes(folder))
      } catch {
        return
      }
      folders.set(folder, false)
    }
  }

  #temporary(name: string): Buffer | string {
    const at = name.lastIndexOf('/') + 1
    return this.#bytes(`${name.slice(0, at)}.${name.slice(at, at + 100)}.chirality-moving`)
  }

  /** A string where its encoding is exact: calls with strings take a fifth less time. */
  #bytes(name: string): Buffer | string {
    const place = `${this.#top}/${name}`
    return OTHER_BYTES.test(place) ? Buffer.from(place, 'latin1') : place
  }
}

/**
 * True for files that git stores itself, part by part. Git reads one name per line, so names with line breaks are
 * excluded.
 */
function isLarge(name: string, facts: Stats): boolean {
  if (facts.isFile() && facts.size > MAX_FILE_BYTES)
    throw refusedFile(name, `has more than ${MAX_FILE_BYTES} bytes`)
  return facts.isFile() && facts.size > LARGE_BYTES && !ODD_NAME.test(name)
}

/** Codes for a file or link that was replaced or removed a moment ago. */
const REPLACED = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'EINVAL', 'EAGAIN'])

/** Parents of files that are known to be folders and no links, so that each is checked once per run. */
export type KnownFolders = Map<string, boolean>

/** Works in slices and lets other tasks run in between; one long run would block the server. */
export async function inSlices<T>(all: readonly T[], work: (one: T) => void): Promise<void> {
  for (const [index, one] of all.entries()) {
    if (index % SLICE === SLICE - 1) await setImmediate()
    work(one)
  }
}

const SLICE = 32

function requireName(name: string): void {
  if (NO_NAME.test(name)) throw refusedFile(name, 'is not a name that a repository may have')
}

/** Names with a part that is empty, `.`, `..` or `.git`. */
const NO_NAME = /(?:^|\/)(?:\.{0,2}|\.git)(?:\/|$)/i

/** Undefined if a file is in the place of a parent folder. */
function present(look: () => Stats | undefined): Stats | undefined {
  try {
    return look()
  } catch (error) {
    return missing(error)
  }
}

/** The name as text for a person. */
export function shownName(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8')
}

/** Some names, and the number of further ones. */
export function listOf(names: readonly string[]): string {
  const rest = names.length - SHOWN_NAMES
  return rest > 0 ? `${names.slice(0, SHOWN_NAMES).join(', ')} and ${rest} more` : names.join(', ')
}

const SHOWN_NAMES = 5

export function byteName(name: string): string {
  return Buffer.from(name, 'utf8').toString('latin1')
}

const MAX_FILE_BYTES = 256 * 1024 * 1024
/** Larger files are not read into memory. */
export const LARGE_BYTES = 1024 * 1024
const FRESH_MS = 100
/** Limit of content that is kept after reading. */
export const KEPT_BYTES = 32 * 1024 * 1024
const MAX_IDS_BYTES = 256 * 1024 * 1024
const TIMEOUT_MS = 5 * 60_000
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const OTHER_BYTES = /[^\x00-\x7f]/
/** Git reads one name per line. */
const ODD_NAME = /[\n\r]/

function refusedFile(name: string, why: string) {
  return workspaceError('review-refused', `${shownName(name)} ${why}. Nothing was changed.`)
}

function changedWhileRead() {
  return workspaceError('git-failed', 'Files changed while they were read. Nothing was changed.')
}

function missing(error: unknown): undefined {
  if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined
  throw error
}
