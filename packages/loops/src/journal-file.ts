import { type BigIntStats, fsyncSync, lstatSync, mkdirSync, renameSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'
import { OPEN, openRegular, readSmallFile, realFileOps, writeAll, writeFileNow } from '@chirality/disk'
import { type ChainLink, chainLines, firstLink, headText } from './chain.ts'
import { isNodeError } from './files.ts'
import type { JournalEntry, Stamped } from './journal.ts'
import { KeptBytes } from './kept-bytes.ts'
import type { Seal } from './machine-key.ts'
import type { ProjectCopy } from './project-copy.ts'
import type { ReadJournal } from './read-journal.ts'

export interface JournalOptions {
  /** Folder in the user's data folder. */
  folder: string
  loopId: string
  seal: Seal
  /** The copy in the project, for people. */
  copy: ProjectCopy
  /** The journal's contents so far. Undefined for a new one. */
  read?: ReadJournal | undefined
}

/**
 * `journal.ndjson`: one fact per line, append-only, synced before the next step. Each line is chained to the previous
 * ones and signed. While a process runs a loop, its memory is the truth: an agent without a cage runs as the same user
 * and can change the file, which is detected before the next entry and at the end.
 */
export class Journal {
  readonly file: string
  readonly #options: JournalOptions
  /** All bytes of the journal, to write it anew. */
  readonly #kept = new KeptBytes()
  #fd: number
  #headFd: number
  #link: ChainLink
  #stats: readonly [BigIntStats | undefined, BigIntStats | undefined]
  #found: string[]

  constructor(options: JournalOptions) {
    const { folder, loopId, read } = options
    this.#options = options
    this.file = path.join(folder, 'journal.ndjson')
    if (read !== undefined) this.#kept.add(Buffer.concat(read.lines))
    this.#link = read?.link ?? firstLink(loopId)
    this.#found = [...(read?.altered ?? [])]
    if (this.#found.length > 0) this.#writeAnew()
    // Never opens an existing journal that was not read.
    this.#fd = openRegular(realFileOps, this.file, read === undefined ? OPEN.createAppend : OPEN.append)
    const { size } = realFileOps.stat(this.#fd)
    // Cuts an unfinished line of a killed process, which would be joined with the next one.
    if (size > this.#kept.size) realFileOps.truncate(this.#fd, this.#kept.size)
    this.#headFd = this.#openHead()
    this.#writeHead()
    // Forces the first comparison: the file may have changed since it was read.
    this.#stats = [undefined, undefined]
  }

  /** Adds entries that belong together in one write: a kill leaves all of them or none. */
  add(...entries: JournalEntry[]): Stamped[] {
    this.#compare()
    return this.#append(entries)
  }

  /** Records the change of another file of the loop with the next entry. */
  note(found: string): void {
    this.#found.push(found)
  }

  /** Records outside changes of the files as an entry, after reading all of them. */
  settle(): Stamped[] {
    this.#compare(true)
    return this.#append([])
  }

  close(): void {
    realFileOps.close(this.#fd)
    realFileOps.close(this.#headFd)
  }

  #append(entries: readonly JournalEntry[]): Stamped[] {
    const found = this.#found.splice(0)
    const all: JournalEntry[] =
      found.length > 0 ? [{ type: 'journal:altered', found }, ...entries] : [...entries]
    if (all.length === 0) return []
    const at = new Date().toISOString()
    const stamped = all.map(entry => ({ at, ...entry }))
    const { text, link } = chainLines(stamped, this.#link, this.#options.seal)
    const bytes = Buffer.from(text)
    writeAll(realFileOps, this.#fd, bytes)
    fsyncSync(this.#fd)
    this.#kept.add(bytes)
    this.#link = link
    this.#writeHead()
    this.#stats = this.#look()
    this.#options.copy.append(bytes)
    return stamped
  }

  /** Compares the files with memory before the next entry. Changed files are put aside and written anew. */
  #compare(isThorough = false): void {
    const now = this.#look()
    if (!isThorough && now.every((stats, at) => isSame(stats, this.#stats[at]))) return
    const journal = contentOf(this.file)
    const kept = this.#kept.all()
    const isIntact = journal !== undefined && kept.equals(journal)
    const isHeadIntact = contentOf(this.#headFile)?.toString('utf8') === this.#headText
    this.#stats = now
    if (isIntact && isHeadIntact) return
    if (!isIntact)
      this.#found.push(journal === undefined ? 'the journal was removed' : differenceOf(kept, journal))
    if (!isHeadIntact)
      this.#found.push('head.json, which says where the journal ends, was changed or removed')
    this.#writeAnew()
    const [fd, headFd] = [openRegular(realFileOps, this.file, OPEN.append), this.#openHead()]
    this.close()
    this.#fd = fd
    this.#headFd = headFd
    this.#writeHead()
    this.#stats = this.#look()
  }

  /** Writes the journal anew. The changed file is kept beside it for inspection. */
  #writeAnew(): void {
    const { folder } = this.#options
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const aside = path.join(folder, `journal.altered-${Date.now()}-${this.#link.count}.ndjson`)
    try {
      renameSync(this.file, aside)
    } catch (error) {
      if (!isNodeError(error, 'ENOENT')) throw error
    }
    writeFileNow(this.file, this.#kept.all())
  }

  get #headFile(): string {
    return path.join(this.#options.folder, 'head.json')
  }

  get #headText(): string {
    const { loopId, seal } = this.#options
    return headText(loopId, this.#link, seal)
  }

  #openHead(): number {
    try {
      return openRegular(realFileOps, this.#headFile, OPEN.update)
    } catch {
      // A foreign object has its place.
      rmSync(this.#headFile, { recursive: true, force: true })
      return openRegular(realFileOps, this.#headFile, OPEN.update)
    }
  }

  /** Not synced: a head that lags behind is no fault, because each line is signed as well. */
  #writeHead(): void {
    const bytes = Buffer.from(this.#headText)
    writeSync(this.#headFd, bytes, 0, bytes.length, 0)
    if (realFileOps.stat(this.#headFd).size > bytes.length) realFileOps.truncate(this.#headFd, bytes.length)
  }

  #look(): readonly [BigIntStats | undefined, BigIntStats | undefined] {
    return [statOf(this.file), statOf(this.#headFile)]
  }
}

function differenceOf(kept: Buffer, found: Buffer): string {
  const common = Math.min(kept.length, found.length)
  let at = 0
  while (at < common && kept[at] === found[at]) at += 1
  if (at === kept.length)
    return `${found.length - kept.length} bytes were added to the journal that the loop did not write`
  let line = 1
  for (let end = kept.indexOf(0x0a); end !== -1 && end < at; end = kept.indexOf(0x0a, end + 1)) line += 1
  return at === found.length
    ? `the journal was cut off in line ${line}`
    : `line ${line} of the journal was changed`
}

/** `ctime` changes with every write, and users cannot set it back. */
function isSame(a: BigIntStats | undefined, b: BigIntStats | undefined): boolean {
  return (
    a !== undefined &&
    b !== undefined &&
    a.ino === b.ino &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs
  )
}

function statOf(file: string): BigIntStats | undefined {
  return lstatSync(file, { bigint: true, throwIfNoEntry: false })
}

/** Undefined if the file is missing or not a regular file. */
function contentOf(file: string): Buffer | undefined {
  try {
    return readSmallFile(realFileOps, file, Number.MAX_SAFE_INTEGER)
  } catch {
    return undefined
  }
}
