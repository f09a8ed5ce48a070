import { join } from 'node:path'
import { CodedError } from '@chirality/core'
import { type FileOps, realFileOps } from '../../files/file-ops.ts'
import { findProjectFolder, realProjectRoot } from '../../files/project-folder.ts'
import { isSessionId } from '../../files/session-id.ts'
import { StorageError, toStorageError } from '../../files/storage-error.ts'
import { userDataFolder } from '../../files/user-data-folder.ts'
import { EVENTS_FOLDER } from '../../log/session-log.ts'
import { ProjectSessions } from '../../store/project-sessions.ts'
import { UserIndex } from '../../store/user-index.ts'
import { type LogQuery, type SearchHit, searchLog } from './search-log.ts'
import { TextMatcher } from './text-matcher.ts'

export interface SearchOptions {
  /** Words, all of which an event has to hold; a phrase goes in quotes. Case does not count. */
  query: string
  /** Default: every project the user has sessions in. */
  projectRoot?: string
  /** The user's data folder. */
  home?: string
  /** Default 50. */
  limit?: number
  signal?: AbortSignal
  ops?: FileOps
}

export interface SearchResult {
  /** Newest first. */
  hits: SearchHit[]
  /** Logs that could not be read, and why. They hide nothing of the others. */
  unreadable: { path: string; error: string }[]
}

/** Looks through what was said and done in sessions. Reads the logs themselves: there is no index that could be behind. */
export async function searchSessions(options: SearchOptions): Promise<SearchResult> {
  const { limit = DEFAULT_LIMIT, ops = realFileOps, signal } = options
  const terms = parseQuery(options.query)
  const query: LogQuery = { needle: needleOf(terms), matcher: new TextMatcher(terms), signal }
  const userIndex = new UserIndex(options.home ?? userDataFolder(), ops)
  const hits = new NewestHits(limit)
  const unreadable: SearchResult['unreadable'] = []
  for (const log of await findLogs(options.projectRoot, userIndex, ops)) {
    if (hits.isFullAt(log.modifiedAt + COARSE_MS)) break
    try {
      await searchOne(log, query, { ops, hits, limit })
    } catch (error) {
      signal?.throwIfAborted()
      unreadable.push({ path: log.path, error: toStorageError(error, log.path).message })
    }
  }
  return { hits: await withTitles(hits.newest(), userIndex, ops), unreadable }
}

const DEFAULT_LIMIT = 50
/** Some file systems keep times only to two seconds. */
const COARSE_MS = 2001

interface FoundLog {
  projectRoot: string
  sessionId: string
  path: string
  modifiedAt: number
}

/** The one that was written to last comes first: nothing in it is newer than that. */
async function findLogs(
  projectRoot: string | undefined,
  userIndex: UserIndex,
  ops: FileOps,
): Promise<FoundLog[]> {
  const roots = projectRoot === undefined ? userIndex.projects() : [realProjectRoot(projectRoot)]
  const found: FoundLog[] = []
  for (const root of roots) {
    const folder = await findProjectFolder(root, EVENTS_FOLDER).catch((error: unknown) => {
      // One project that was moved away must not hide the others.
      if (projectRoot !== undefined || !(error instanceof StorageError)) throw error
      return undefined
    })
    for (const name of folder === undefined ? [] : ops.readdir(folder)) {
      const sessionId = name.endsWith(LOG_ENDING) ? name.slice(0, -LOG_ENDING.length) : ''
      const path = join(folder ?? '', name)
      const stats = isSessionId(sessionId) ? ops.lstat(path) : undefined
      if (stats !== undefined) found.push({ projectRoot: root, sessionId, path, modifiedAt: stats.mtimeMs })
    }
  }
  return found.sort((a, b) => b.modifiedAt - a.modifiedAt)
}

const LOG_ENDING = '.ndjson'

async function searchOne(
  { projectRoot, sessionId, path }: FoundLog,
  query: LogQuery,
  { ops, hits, limit }: { ops: FileOps; hits: NewestHits; limit: number },
): Promise<void> {
  let found = 0
  for await (const { envelope, kind, snippet } of searchLog({ ops, path, sessionId }, query)) {
    const { seq, at, turnId } = envelope
    const { text, ranges } = snippet
    hits.add({ projectRoot, sessionId, title: null, seq, at, turnId, kind, snippet: text, ranges })
    found += 1
    // What follows is older than all of these.
    if (found >= limit) return
  }
}

async function withTitles(hits: SearchHit[], userIndex: UserIndex, ops: FileOps): Promise<SearchHit[]> {
  const projects = new Map<string, ProjectSessions>()
  const titles = new Map<string, string | null>()
  for (const { projectRoot, sessionId } of hits) {
    const key = `${projectRoot}\0${sessionId}`
    if (titles.has(key)) continue
    const project = projects.get(projectRoot) ?? new ProjectSessions(projectRoot, userIndex, ops)
    projects.set(projectRoot, project)
    // A session whose file is unusable has still said what it said.
    const session = await project.get(sessionId).catch(() => undefined)
    titles.set(key, session?.title ?? null)
  }
  return hits.map(hit => ({ ...hit, title: titles.get(`${hit.projectRoot}\0${hit.sessionId}`) ?? null }))
}

/** The newest of all hits, and no more of them than are wanted. */
class NewestHits {
  readonly #limit: number
  #hits: SearchHit[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  add(hit: SearchHit): void {
    this.#hits.push(hit)
    if (this.#hits.length >= this.#limit * 2) this.#hits = this.newest()
  }

  /** Whether nothing from before `time` could still be among them. */
  isFullAt(time: number): boolean {
    if (this.#hits.length < this.#limit) return false
    this.#hits = this.newest()
    const last = this.#hits.at(-1)
    return last !== undefined && Date.parse(last.at) > time
  }

  newest(): SearchHit[] {
    return this.#hits.toSorted(compareHits).slice(0, this.#limit)
  }
}

function compareHits(a: SearchHit, b: SearchHit): number {
  return Date.parse(b.at) - Date.parse(a.at) || b.seq - a.seq
}

/**
 * The words of a query, all of which an event has to hold. What stands in quotes is one of them, spaces included. Nothing
 * else means anything: a dot is a dot.
 */
export function parseQuery(query: string): string[] {
  if (query.length > MAX_QUERY_CHARS) {
    throw searchError(
      'search-too-long',
      `The query is longer than ${MAX_QUERY_CHARS} characters. Search for less of it.`,
    )
  }
  const terms = new Set<string>()
  // A quote that is not closed reaches to the end: the query is still being typed.
  for (const [, phrase, word] of query.matchAll(/"([^"]*)(?:"|$)|([^\s"]+)/g)) {
    const term = (phrase ?? word ?? '').trim()
    if (term !== '') terms.add(term)
  }
  if (terms.size === 0)
    throw searchError('search-empty', 'The query is empty. Give a word, or a phrase in quotes.')
  return [...terms]
}

/** More than anybody remembers of what was said, and less than a regular expression can bear. */
const MAX_QUERY_CHARS = 1000

/** Why a query cannot be searched for. */
export type SearchErrorCode = 'search-empty' | 'search-too-long'

function searchError(code: SearchErrorCode, message: string): CodedError<SearchErrorCode> {
  return new CodedError(code, message)
}

/**
 * A pattern that finds a query in the bytes of a log, read as Latin-1: the longest of its pieces that JSON leaves as it is,
 * in every case. Whatever holds the query matches; what matches still has to be looked at. Undefined when there is no such
 * piece, as for a lone quote.
 */
export function needleOf(terms: readonly string[]): RegExp | undefined {
  const pieces = terms.flatMap(term => [...term.matchAll(PLAIN)].map(match => [...match[0]]))
  const longest = pieces.reduce((a, b) => (b.length > a.length ? b : a), [])
  if (longest.length === 0) return undefined
  const pattern = longest.slice(0, MAX_NEEDLE_CHARS).map(anyCase).join('')
  return new RegExp(`${pattern}${NOT_IN_A_KEY}`, 'g')
}

/** What `JSON.stringify` escapes, and white space, which a phrase takes for any other, end a piece. */
const PLAIN = /[^\p{Cc}\p{Cs}\s"\\]+/gu

/** Beyond this a longer pattern finds nothing less. */
const MAX_NEEDLE_CHARS = 64

/** An unescaped quote before a colon ends a key, and every line has the same keys. */
const NOT_IN_A_KEY = '(?![A-Za-z_]*":)'

function anyCase(char: string): string {
  const variants = [...new Set([char, ...sameButForCase(char)])].map(latin1OfUtf8)
  const [only] = variants
  if (variants.length === 1 && only !== undefined) return escapeBytes(only)
  if (variants.every(bytes => bytes.length === 1)) return `[${variants.map(escapeBytes).join('')}]`
  return `(?:${variants.map(escapeBytes).join('|')})`
}

function sameButForCase(char: string): string[] {
  const odd = ODD_ASCII.get(char.toLowerCase())
  if (odd !== undefined) return odd
  if (char < '\u0080') return [char.toLowerCase(), char.toUpperCase()]
  // Asked of the engine that judges the matches, so that the two agree on every script.
  everyChar ??= charsUpTo(0x1ffff)
  return [...everyChar.matchAll(new RegExp(char, 'giu'))].map(match => match[0])
}

/** Two letters of ASCII have a third form outside it: the Kelvin sign and the long s. */
const ODD_ASCII = new Map([
  ['k', ['k', 'K', '\u212a']],
  ['s', ['s', 'S', '\u017f']],
])

let everyChar: string | undefined

/** All characters that can have case, and more. */
function charsUpTo(last: number): string {
  let text = ''
  for (let code = 0x20; code <= last; code += 1) {
    if (code < 0xd800 || code > 0xdfff) text += String.fromCodePoint(code)
  }
  return text
}

function latin1OfUtf8(char: string): string {
  return Buffer.from(char).toString('latin1')
}

function escapeBytes(bytes: string): string {
  return bytes.replace(/[^A-Za-z0-9]/g, byte => `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`)
}
