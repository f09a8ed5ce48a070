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
  markOf,
  modeOf,
  permissionsOf,
  readRegular,
  withExecutable,
  writeNew,
} from './one-file.ts'
import { BATCH_BYTES } from './read-objects.ts'

/** A file as a tree of git has it. */
export interface TreeFile {
  mode: string
  id: string
}

/** A file to write. Without `permissions` it has those of the file that it replaces, or the usual ones. */
export interface NewDiskFile extends DiskFile {
  permissions?: number | undefined
}

/** A file as it was found. While its `mark` is the same, so is its content. */
export interface SeenFile {
  /** Null if there is none: also for a folder in its place, or a link in the place of one of its folders. */
  file: TreeFile | null
  mark: string | null
  /** Of a regular file. */
  permissions?: number
  /** Of as many files as may be in memory at once. */
  content?: Buffer
}

/**
 * The files of a work tree, byte for byte: no filter and no line ending is converted. Names are `latin1` strings of
 * their bytes, because a name need not be UTF-8.
 */
export class DiskFiles {
  readonly #repository: GitRepository
  readonly #top: string

  constructor(repository: GitRepository) {
    this.#repository = repository
    this.#top = Buffer.from(repository.top).toString('latin1')
  }

  /**
   * Many files as they are. `like` is any id of the repository. Synchronous in slices, as `write` is. Throws for a device.
   */
  async look(names: readonly string[], like: string): Promise<Map<string, SeenFile>> {
    const folders: KnownFolders = new Map()
    const seen = new Map<string, SeenFile>()
    const large: string[] = []
    let room = KEPT_BYTES
    await inSlices(names, name => {
      const facts = this.#factsOf(name, folders)
      const found: SeenFile = { file: null, mark: markOf(facts), ...permissionsOf(facts) }
      seen.set(name, found)
      if (facts === undefined || facts.isDirectory()) return
      if (isLarge(name, facts)) {
        large.push(name)
        return
      }
      const content = this.#contentOf(name, facts)
      found.file = { mode: modeOf(facts), id: objectId('blob', content, like) }
      // Two changes in one tick of the clock leave the same mark: what is fresh is read again to be stored.
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
   * Writes their contents into the user's repository, except those of `stored`, and what else is given. Throws if one that
   * has to be read for this is not as it was seen.
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
      // Lets others in between.
      else if (blobs.length % SLICE === 0) await setImmediate()
    }
    blobs = [...blobs, ...besides]
    await send()
    const names = large.map(({ name }) => name)
    const ids = await this.#hash(names, true)
    if (large.some(({ id }, index) => ids[index] !== id)) throw changedWhileRead()
  }

  /** Of a regular file or a link. */
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
    // With `./` no name begins with a quotation mark, which git would take for a quoted one.
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

  /** False where git would see no file of this name, but may refuse to look: in the place of a folder, and behind a link. */
  has(name: string, folders: KnownFolders): boolean {
    const facts = this.#factsOf(name, folders)
    if (!facts?.isDirectory()) return facts !== undefined
    // A repository of its own.
    return lstatSync(this.#bytes(`${name}/.git`), { throwIfNoEntry: false }) !== undefined
  }

  /**
   * Replaces a file in one step: a process that is killed leaves the old or the new one. Undefined removes it. False, with
   * nothing changed, if the file is not as it was seen. Synchronous, because a wait for each of ten thousand files takes
   * longer than all the writing: the caller lets others in between. `folders` is kept by the caller for one run.
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
    const known = file.permissions ?? permissionsOf(facts).permissions
    const exact = known === undefined ? undefined : withExecutable(known, file.mode === '100755')
    const temporary = this.#temporary(name)
    try {
      writeNew(temporary, file, exact)
      // An empty folder may be left where a file was before.
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

  /** What a killed process left of this file. */
  async clean(name: string): Promise<void> {
    if ((await this.#place(name)) !== undefined) await rm(this.#temporary(name), { force: true })
  }

  /**
   * What keeps a file of this name from being written once the files of `leaving` are removed: a file in the place of one
   * of its folders, or what else is in a folder in its own place.
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

  /** The first parent that is there and is no folder. */
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

  /** Undefined if there is nothing, or a parent is missing, or is a file or a link. */
  #factsOf(name: string, folders: KnownFolders): Stats | undefined {
    requireName(name)
    for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1))
      if (!this.#isFolder(name.slice(0, at), folders)) return undefined
    return present(() => lstatSync(this.#bytes(name), { throwIfNoEntry: false }))
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

  /** As a string where that is the same: many calls with one take a fifth less time. */
  #bytes(name: string): Buffer | string {
    const place = `${this.#top}/${name}`
    return OTHER_BYTES.test(place) ? Buffer.from(place, 'latin1') : place
  }
}

/** Git stores these itself, part by part; it takes one name in each line. */
function isLarge(name: string, facts: Stats): boolean {
  if (facts.isFile() && facts.size > MAX_FILE_BYTES)
    throw refusedFile(name, `has more than ${MAX_FILE_BYTES} bytes`)
  return facts.isFile() && facts.size > LARGE_BYTES && !ODD_NAME.test(name)
}

/** Something else, or nothing, is in the place of what was a file or a link a moment ago. */
const REPLACED = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'EINVAL', 'EAGAIN'])

/** Which parents of files are folders, and no links: each is looked at once in a run over many files. */
export type KnownFolders = Map<string, boolean>

/** Lets others in between: all at once would keep a server from everything else. */
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

/** A part of it is empty, `.`, `..` or `.git`. */
const NO_NAME = /(?:^|\/)(?:\.{0,2}|\.git)(?:\/|$)/i

/** A file in the place of a folder is no file of that folder. */
function present(look: () => Stats | undefined): Stats | undefined {
  try {
    return look()
  } catch (error) {
    return missing(error)
  }
}

/** As people read it. */
export function shownName(name: string): string {
  return Buffer.from(name, 'latin1').toString('utf8')
}

/** A few names, and how many more there are. */
export function listOf(names: readonly string[]): string {
  const rest = names.length - SHOWN_NAMES
  return rest > 0 ? `${names.slice(0, SHOWN_NAMES).join(', ')} and ${rest} more` : names.join(', ')
}

const SHOWN_NAMES = 5

export function byteName(name: string): string {
  return Buffer.from(name, 'utf8').toString('latin1')
}

const MAX_FILE_BYTES = 256 * 1024 * 1024
/** Larger ones are not read into memory. */
export const LARGE_BYTES = 1024 * 1024
const FRESH_MS = 100
/** How much of what is read is kept for later. */
export const KEPT_BYTES = 32 * 1024 * 1024
const MAX_IDS_BYTES = 256 * 1024 * 1024
const TIMEOUT_MS = 5 * 60_000
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const OTHER_BYTES = /[^\x00-\x7f]/
/** Git takes one name in each line. */
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
