import { join } from 'node:path'
import { CodedError } from '@chirality/core'
import { type FileOps, realFileOps, StorageError, toStorageError } from '@chirality/disk'
import { findProjectFolder, realProjectRoot } from '../../files/project-folder.ts'
import { isSessionId } from '../../files/session-id.ts'
import { userDataFolder } from '../../files/user-data-folder.ts'
import { EVENTS_FOLDER } from '../../log/session-log.ts'
import { ProjectSessions } from '../../store/project-sessions.ts'
import { UserIndex } from '../../store/user-index.ts'
import { type LogQuery, type SearchHit, searchLog } from './search-log.ts'
import { TextMatcher } from './text-matcher.ts'

export interface SearchOptions {
  /** The words that an event must contain, with phrases in quotes. Not case-sensitive. */
  query: string
  /** Default: all of the user's projects. */
  projectRoot?: string
  home?: string
  /** Default 50. */
  limit?: number
  signal?: AbortSignal
  ops?: FileOps
}

export interface SearchResult {
  hits: SearchHit[]
  /** The logs that could not be read; the others are still searched. */
  unreadable: { path: string; error: string }[]
}

/** Searches the content of sessions. Reads the logs directly, so there is no index that could be out of date. */
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
/** Some file systems store times only to two seconds. */
const COARSE_MS = 2001

interface FoundLog {
  projectRoot: string
  sessionId: string
  path: string
  modifiedAt: number
}

/** Sorted by the time of the last write, newest first: a log holds nothing newer than that. */
async function findLogs(
  projectRoot: string | undefined,
  userIndex: UserIndex,
  ops: FileOps,
): Promise<FoundLog[]> {
  const roots = projectRoot === undefined ? userIndex.projects() : [realProjectRoot(projectRoot)]
  const found: FoundLog[] = []
  for (const root of roots) {
    const folder = await findProjectFolder(root, EVENTS_FOLDER).catch((error: unknown) => {
      // A project that was moved must not hide the others.
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
    // All remaining logs are older than these hits.
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
    // The log of a session is searched even if its own file is unreadable.
    const session = await project.get(sessionId).catch(() => undefined)
    titles.set(key, session?.title ?? null)
  }
  return hits.map(hit => ({ ...hit, title: titles.get(`${hit.projectRoot}\0${hit.sessionId}`) ?? null }))
}

/** Keeps the newest hits up to the limit. */
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

  /** Whether no hit from before `time` could still be added. */
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
 * The words of a query, all of which an event must contain. Quotes enclose a phrase with spaces. No other character is
 * special.
 */
export function parseQuery(query: string): string[] {
  if (query.length > MAX_QUERY_CHARS) {
    throw searchError(
      'search-too-long',
      `The query is longer than ${MAX_QUERY_CHARS} characters. Search for less of it.`,
    )
  }
  const terms = new Set<string>()
  // An unclosed quote extends to the end, because the user may still be typing.
  for (const [, phrase, word] of query.matchAll(/"([^"]*)(?:"|$)|([^\s"]+)/g)) {
    const term = (phrase ?? word ?? '').trim()
    if (term !== '') terms.add(term)
  }
  if (terms.size === 0)
    throw searchError('search-empty', 'The query is empty. Give a word, or a phrase in quotes.')
  return [...terms]
}

/** Longer queries make the regular expression too slow. */
const MAX_QUERY_CHARS = 1000

export type SearchErrorCode = 'search-empty' | 'search-too-long'

function searchError(code: SearchErrorCode, message: string): CodedError<SearchErrorCode> {
  return new CodedError(code, message)
}

/**
 * A pattern that finds candidates for a query in the bytes of a log, read as Latin-1: the longest piece that JSON does
 * not escape, in every case. Every line with the query matches, but a match must still be checked. Undefined when there
 * is no such piece, as for a single quote.
 */
export function needleOf(terms: readonly string[]): RegExp | undefined {
  const pieces = terms.flatMap(term => [...term.matchAll(PLAIN)].map(match => [...match[0]]))
  const longest = pieces.reduce((a, b) => (b.length > a.length ? b : a), [])
  if (longest.length === 0) return undefined
  const pattern = longest.slice(0, MAX_NEEDLE_CHARS).map(anyCase).join('')
  return new RegExp(`${pattern}${NOT_IN_A_KEY}`, 'g')
}

/** A piece ends at characters that `JSON.stringify` escapes, and at white space, which a phrase matches loosely. */
const PLAIN = /[^\p{Cc}\p{Cs}\s"\\]+/gu

/** A longer pattern excludes hardly any more lines. */
const MAX_NEEDLE_CHARS = 64

/** Excludes keys, which are the same in every line: an unescaped quote before a colon ends a key. */
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
  // Computed with the engine that checks the matches, so that both agree on every script.
  everyChar ??= charsUpTo(0x1ffff)
  return [...everyChar.matchAll(new RegExp(char, 'giu'))].map(match => match[0])
}

/** Two ASCII letters have a third form outside ASCII: the Kelvin sign and the long s. */
const ODD_ASCII = new Map([
  ['k', ['k', 'K', '\u212a']],
  ['s', ['s', 'S', '\u017f']],
])

let everyChar: string | undefined

/** Covers all characters that have case. */
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
