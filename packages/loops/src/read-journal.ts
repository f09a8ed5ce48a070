import type { FileHandle } from 'node:fs/promises'
import { openCarefully } from '@chirality/disk'
import { type ChainedLine, type ChainLink, firstLink, followsFrom, readHead } from './chain.ts'
import { loopFile, readLoopFile } from './files.ts'
import type { Stamped } from './journal.ts'
import { readEntry } from './journal-schema.ts'
import { keyFile, type Seal } from './machine-key.ts'

/** A line that this version cannot read. It stays in the file. */
export interface UnreadableLine {
  /** Counted from 1. */
  line: number
  why: string
}

export interface ReadJournal {
  /** Entries that this machine wrote and nobody changed. Everything from the first other line on is ignored. */
  entries: Stamped[]
  unreadable: UnreadableLine[]
  /** Parts that differ from what this machine wrote. */
  altered: string[]
  /** Reason why the existing file was not read. */
  fault?: string
  /** Chain position after the last of `entries`. */
  link: ChainLink
  /** Bytes of `entries`, line by line. */
  lines: Buffer[]
}

interface JournalOf {
  loopId: string
  /** Undefined if the key of this machine is gone. */
  seal: Seal | undefined
  /** The user's data folder, to name the key. */
  home: string
  /** Position up to which this process has read it before. */
  seen?: ChainLink
}

/** Reads the journal of a loop, even while another process writes it. Never rejects. Undefined if there is none. */
export async function readJournal(folder: string, of: JournalOf): Promise<ReadJournal | undefined> {
  // Read before the journal: a writer appends to the journal first, so it has at least as many entries.
  const head = await readLoopFile(folder, 'head.json')
  const opened = await openCarefully(loopFile(folder, 'journal.ndjson'))
  if (opened === undefined) return undefined
  const none = { ...nothing(of.loopId) }
  if ('fault' in opened) return { ...none, fault: opened.fault.message }
  const { handle, stats } = opened
  try {
    if (stats.size > MAX_BYTES)
      return { ...none, fault: `It has ${stats.size} bytes; at most ${MAX_BYTES} are read.` }
    return believed(await chainIn(handle, of.loopId), head, of)
  } catch (error) {
    return { ...none, fault: error instanceof Error ? error.message : String(error) }
  } finally {
    await handle.close()
  }
}

function nothing(loopId: string): ReadJournal {
  return { entries: [], unreadable: [], altered: [], link: firstLink(loopId), lines: [] }
}

interface Chain {
  links: (ChainedLine & { bytes: Buffer })[]
  altered: string[]
}

/** The leading lines of which each follows from the previous one. */
async function chainIn(handle: FileHandle, loopId: string): Promise<Chain> {
  const links: Chain['links'] = []
  let { chain } = firstLink(loopId)
  for await (const bytes of linesIn(handle)) {
    const link = followsFrom(chain, bytes.toString('utf8', 0, bytes.length - 1))
    if (link === undefined)
      return {
        links,
        altered: [
          `line ${links.length + 1} does not follow from those before it: somebody changed, added or removed lines`,
        ],
      }
    links.push({ ...link, bytes })
    chain = link.chain
  }
  return { links, altered: [] }
}

/** Keeps the lines signed by this machine, and compares them with its head file. */
function believed({ links, altered }: Chain, head: string | undefined, of: JournalOf): ReadJournal {
  const { loopId, seal, home, seen } = of
  const found = [...altered]
  if (seen !== undefined && links[seen.count - 1]?.chain !== seen.chain)
    found.push('it is not what it was before: somebody set it back, or wrote it anew')
  if (seal === undefined) {
    const why = `the key of this machine (${keyFile(home)}) is gone or damaged: no signature can be checked`
    return { ...nothing(loopId), altered: [why] }
  }
  let isKnown: number | undefined
  try {
    if (head === undefined) throw new Error('is gone')
    const { count, chain } = readHead(loopId, head, seal)
    if (count > links.length) {
      if (altered.length === 0)
        found.push(`${count - links.length} of its ${count} entries are missing at its end`)
    } else if (count > 0 && links[count - 1]?.chain !== chain) found.push('its entries were written anew')
    else isKnown = count
  } catch (error) {
    found.push(
      `head.json, which says where it ends, ${error instanceof SyntaxError ? 'is damaged' : (error as Error).message}`,
    )
  }
  let count = isKnown === undefined ? lastSigned(links, seal) : signedFrom(links, isKnown, seal)
  if (count < links.length)
    found.push(`line ${count + 1} is not signed by this machine: somebody else wrote it`)
  const read: ReadJournal = { ...nothing(loopId), altered: found }
  const parsed = links.slice(0, count).map(({ body }) => readEntry(body))
  // A group of entries that was cut off by the end of its process counts as not written.
  while (count > 0 && hasMore(parsed[count - 1])) count -= 1
  for (const [at, one] of parsed.slice(0, count).entries()) {
    if ('entry' in one) read.entries.push(one.entry)
    else if (read.unreadable.length < MAX_NAMED) read.unreadable.push({ line: at + 1, why: one.why })
  }
  read.lines = links.slice(0, count).map(({ bytes }) => bytes)
  const last = links[count - 1]
  if (last !== undefined) read.link = { count, chain: last.chain }
  return read
}

function hasMore(read: ReturnType<typeof readEntry> | undefined): boolean {
  return read !== undefined && 'entry' in read && 'more' in read.entry && Number(read.entry.more) > 0
}

/** Number of lines up to the last signed one: its signature covers all lines before it. */
function lastSigned(links: Chain['links'], seal: Seal): number {
  const first = Math.max(0, links.length - MAX_SIGNATURES)
  for (let at = links.length - 1; at >= first; at -= 1) if (isSigned(links[at], seal)) return at + 1
  return 0
}

function signedFrom(links: Chain['links'], from: number, seal: Seal): number {
  let count = from
  while (count < links.length && count - from < MAX_SIGNATURES && isSigned(links[count], seal)) count += 1
  return count
}

function isSigned(link: ChainedLine | undefined, seal: Seal): boolean {
  return link !== undefined && seal.holds('entry', link.chain, link.sig)
}

/**
 * Yields complete lines; text after the last line break is unfinished. Reads small parts, so that other tasks run in
 * between.
 */
async function* linesIn(handle: FileHandle): AsyncGenerator<Buffer> {
  const part = Buffer.alloc(PART_BYTES)
  let rest = Buffer.alloc(0)
  for (let at = 0; at < MAX_BYTES; ) {
    const { bytesRead } = await handle.read(part, 0, PART_BYTES, at)
    if (bytesRead === 0) return
    at += bytesRead
    const bytes = Buffer.concat([rest, part.subarray(0, bytesRead)])
    let from = 0
    for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, from)) {
      yield bytes.subarray(from, end + 1)
      from = end + 1
    }
    rest = bytes.subarray(from)
    if (rest.length > MAX_LINE_BYTES) throw new Error(`A line of it has more than ${MAX_LINE_BYTES} bytes.`)
  }
}

const MAX_BYTES = 256 * 1024 * 1024
const PART_BYTES = 256 * 1024
/** Fits all tasks of the largest list, parked in one entry. */
const MAX_LINE_BYTES = 32 * 1024 * 1024
const MAX_NAMED = 20
/** Each check takes about 0.1 ms, and a hostile file may have a million lines. */
const MAX_SIGNATURES = 2_000
