import { setImmediate } from 'node:timers/promises'
import type { Envelope } from '@chirality/core'
import type { FileOps } from '@chirality/disk'
import { OPEN, openRegular, readFully } from '@chirality/disk'
import { decodeLine, isStoredOnce } from '../../log/envelope-line.ts'
import { TextCollector, withText } from '../../log/stored-texts.ts'
import { type HitKind, SEARCHABLE_TYPES, searchableText } from './searchable-text.ts'
import type { Snippet, TextMatcher } from './text-matcher.ts'

export interface LogToSearch {
  ops: FileOps
  path: string
  sessionId: string
}

export interface LogQuery {
  needle: RegExp | undefined
  matcher: TextMatcher
  signal?: AbortSignal
}

export interface LogHit {
  envelope: Envelope
  kind: HitKind
  snippet: Snippet
}

/** The hits in one log, newest first, found on demand. */
export async function* searchLog(log: LogToSearch, query: LogQuery): AsyncGenerator<LogHit> {
  const { ops, path } = log
  const fd = openRegular(ops, path, OPEN.read)
  try {
    const search = new LogSearch({ ...log, fd }, query.matcher)
    for (const { bytes, start } of chunksFromEnd(ops, fd, ops.stat(fd).size)) {
      query.signal?.throwIfAborted()
      for (const line of candidateLines(bytes, query.needle, search.wantedMessages).reverse()) {
        const hits = search.look(bytes.subarray(line.start, line.end), line, start + line.start)
        for (const hit of hits) yield hit
      }
      // Gives other work of the server a turn.
      await setImmediate()
    }
    for (const hit of search.end()) yield hit
  } finally {
    ops.close(fd)
  }
}

/** A line that may have a hit, once its text was found in the lines before it. */
interface WaitingLine {
  envelope: Envelope
  isTurn: boolean
  position: number
  /** For a line that refers to its text. */
  text?: { collector: TextCollector; messageId: string; from: number; isOver: boolean }
}

class LogSearch {
  readonly #log: { ops: FileOps; fd: number; sessionId: string }
  readonly #matcher: TextMatcher
  /** In the order of the search. The first one waits for its text. */
  #waiting: WaitingLine[] = []
  #sawTurn = false
  /**
   * The answer of a turn usually repeats its last message. Then the message is the hit, because the transcript shows
   * it.
   */
  #answer: LogHit | undefined

  constructor(log: { ops: FileOps; fd: number; sessionId: string }, matcher: TextMatcher) {
    this.#log = log
    this.#matcher = matcher
  }

  /** The messages whose pieces have to be looked at, too: their ids as they stand in a chunk. */
  get wantedMessages(): Set<string> {
    const ids = this.#waiting.flatMap(({ text }) => (text && !text.isOver ? [text.messageId] : []))
    return new Set(ids.map(id => Buffer.from(JSON.stringify(id).slice(1, -1)).toString('latin1')))
  }

  look(bytes: Buffer, { isTurn, isPiece }: CandidateLine, position: number): LogHit[] {
    const envelope = decodeLine(bytes, this.#log.sessionId)
    if (envelope === undefined) return []
    for (const { text } of this.#waiting) {
      if (text === undefined || text.isOver) continue
      text.collector.add(envelope)
      text.isOver = text.collector.isComplete || envelope.seq <= text.from
    }
    const line: WaitingLine = { envelope, isTurn, position }
    if (isStoredOnce(envelope.event)) {
      const { textOf } = envelope.event
      const { messageId, from } = textOf
      line.text = { collector: new TextCollector(textOf), messageId, from, isOver: false }
    }
    if (!isPiece) this.#waiting.push(line)
    return this.#settle()
  }

  #settle(): LogHit[] {
    const isReady = ({ text }: WaitingLine) => text === undefined || text.isOver
    const waits = this.#waiting.findIndex(line => !isReady(line))
    const ready = this.#waiting.splice(0, waits < 0 ? this.#waiting.length : waits)
    return ready.flatMap(({ text, envelope, isTurn, position }) =>
      this.#match(text ? withText(envelope, text.collector.text) : envelope, isTurn, position),
    )
  }

  #match(envelope: Envelope, isTurn: boolean, position: number): LogHit[] {
    const hits = isTurn ? [...this.#held(), ...this.#unfinished(envelope, position)] : []
    const found = searchableText(envelope.event)
    const snippet = found && this.#matcher.find(found.text)
    if (found === undefined || snippet === undefined) return hits
    const hit = { envelope, kind: found.kind, snippet }
    if (envelope.event.type === 'chat:complete') {
      this.#answer = hit
      return hits
    }
    if (this.#answer !== undefined && isRepeatedBy(this.#answer, hit)) this.#answer = undefined
    return [...hits, hit]
  }

  end(): LogHit[] {
    for (const { text } of this.#waiting) if (text) text.isOver = true
    return [...this.#settle(), ...this.#held()]
  }

  #held(): LogHit[] {
    const held = this.#answer
    this.#answer = undefined
    return held === undefined ? [] : [held]
  }

  /** The incomplete message of a stopped or running turn. */
  #unfinished({ event }: Envelope, position: number): LogHit[] {
    const isLast = !this.#sawTurn
    this.#sawTurn = true
    if (event.type === 'turn:start' && isLast) return this.#open(this.#log.ops.stat(this.#log.fd).size)
    return event.type === 'turn:end' && event.reason !== 'completed' ? this.#open(position) : []
  }

  #open(end: number): LogHit[] {
    return openTexts(this.#log, end).flatMap(({ first, text }) => {
      const snippet = this.#matcher.find(text)
      return snippet === undefined ? [] : [{ envelope: first, kind: 'assistant' as const, snippet }]
    })
  }
}

function isRepeatedBy({ envelope: answer }: LogHit, { envelope: other }: LogHit): boolean {
  return (
    answer.turnId === other.turnId &&
    answer.event.type === 'chat:complete' &&
    other.event.type === 'chat:message' &&
    other.event.text === answer.event.text
  )
}

/** A line of a chunk that has to be parsed: from its start to its newline. */
interface CandidateLine {
  start: number
  end: number
  /** The start or end of a turn, needed even without a match. */
  isTurn: boolean
  /** Only looked at for a text that is put together. */
  isPiece: boolean
}

/**
 * The lines that may hold the query or refer to a text that does, the pieces of such texts, and the ends of turns, in
 * order, without parsing any. `wanted` names messages that later lines refer to.
 */
function candidateLines(
  bytes: Buffer,
  needle: RegExp | undefined,
  wanted: ReadonlySet<string>,
): CandidateLine[] {
  const text = bytes.toString('latin1')
  const lines = new Map<number, CandidateLine>()
  const add = (start: number, { isTurn = false, isPiece = false } = {}) =>
    lines.set(start, { start, end: endOf(text, start), isTurn, isPiece })
  const refs = [...linesWith(text, TEXT_REF)]
  if (wanted.size > 0 || refs.length > 0) {
    const pieces = piecesIn(text)
    const looked = new Set(wanted)
    const firstSeq = Number(FIRST_SEQ.exec(text)?.[1])
    for (const start of refs) {
      const { messageId = '', from = '' } =
        REF_FIELDS.exec(text.slice(start, endOf(text, start)))?.groups ?? {}
      const ofMessage = pieces.get(messageId)
      // Of a text that begins before this chunk the words may be there.
      const isHere = Number(from) >= firstSeq && ofMessage !== undefined
      if (isHere && needle !== undefined && !mayHold(ofMessage.texts.join(''), needle)) continue
      looked.add(messageId)
      add(start)
    }
    for (const id of looked) for (const start of pieces.get(id)?.starts ?? []) add(start, { isPiece: true })
  }
  for (const start of startsOfMatches(text, needle)) add(start)
  for (const start of linesWith(text, TURN_EVENT)) add(start, { isTurn: true })
  return [...lines.values()].sort((a, b) => a.start - b.start)
}

/** The halves of a character can be in two pieces, each as an escape. */
function mayHold(json: string, needle: RegExp): boolean {
  needle.lastIndex = 0
  return needle.test(json) || json.includes('\\ud')
}

/** The pieces of texts, by the id of their message; both as they stand in the JSON. */
function piecesIn(text: string): Map<string, { starts: number[]; texts: string[] }> {
  const pieces = new Map<string, { starts: number[]; texts: string[] }>()
  for (const start of linesWith(text, DELTA_EVENT)) {
    const end = endOf(text, start)
    const id = stringAt(text, '"messageId":"', start, end)
    const ofMessage = pieces.get(id) ?? { starts: [], texts: [] }
    pieces.set(id, ofMessage)
    ofMessage.starts.push(start)
    ofMessage.texts.push(stringAt(text, '"text":"', start, end))
  }
  return pieces
}

/** The JSON string behind a key. The key is not found in other strings: there its quotes are escaped. */
function stringAt(text: string, key: string, start: number, end: number): string {
  const at = text.indexOf(key, start)
  if (at < 0 || at >= end) return ''
  const from = at + key.length
  for (let to = text.indexOf('"', from); to >= 0 && to < end; to = text.indexOf('"', to + 1)) {
    let escapes = 0
    while (text[to - 1 - escapes] === '\\') escapes += 1
    if (escapes % 2 === 0) return text.slice(from, to)
  }
  return ''
}

function* linesWith(text: string, part: string): Generator<number> {
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, endOf(text, at))) {
    yield text.lastIndexOf('\n', at) + 1
  }
}

function* startsOfMatches(text: string, needle: RegExp | undefined): Generator<number> {
  const find = needle ?? /^/gm
  find.lastIndex = 0
  for (let match = find.exec(text); match !== null; match = find.exec(text)) {
    const start = text.lastIndexOf('\n', match.index) + 1
    const end = endOf(text, start)
    const type = typeIn(text, start, end)
    if (type === undefined) {
      // The line has another format, so it has to be parsed.
      yield start
      find.lastIndex = end + 1
    } else if (!SEARCHABLE_TYPES.has(type.name)) find.lastIndex = end + 1
    else if (needle !== undefined && match.index < type.end) find.lastIndex = type.end
    else {
      yield start
      find.lastIndex = end + 1
    }
  }
}

const EVENT_TYPE = '"event":{"type":"'
const TURN_EVENT = `${EVENT_TYPE}turn:`
const DELTA_EVENT = `${EVENT_TYPE}chat:delta"`
const TEXT_REF = '"textOf"'
const REF_FIELDS = /"textOf":\{"messageId":"(?<messageId>(?:[^"\\]|\\.)*)".*?"from":(?<from>\d+)/
const FIRST_SEQ = /^\{"seq":(\d+),/

function typeIn(text: string, start: number, end: number): { name: string; end: number } | undefined {
  const at = text.slice(start, Math.min(end, start + MAX_HEAD_CHARS)).indexOf(EVENT_TYPE)
  if (at < 0) return undefined
  const nameStart = start + at + EVENT_TYPE.length
  const nameEnd = text.indexOf('"', nameStart)
  return { name: text.slice(nameStart, nameEnd), end: nameEnd + 1 }
}

/** Ids and times before the event are shorter. */
const MAX_HEAD_CHARS = 512

function endOf(text: string, start: number): number {
  const end = text.indexOf('\n', start)
  return end < 0 ? text.length : end
}

interface LogChunk {
  /** Complete lines. Valid until the next chunk is requested. */
  bytes: Buffer
  /** Their position in the file. */
  start: number
}

/**
 * Reads a log backwards, so that the newest matches are found first. An incomplete last line is skipped. A chunk without
 * a whole line is empty, so that others have their turn while a long line is looked for.
 */
function* chunksFromEnd(ops: FileOps, fd: number, size: number): Generator<LogChunk> {
  const usual = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size))
  let span = CHUNK_BYTES
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - span)
    const length = end - start
    const buffer = length <= usual.length ? usual.subarray(0, length) : Buffer.allocUnsafe(length)
    const bytes = readFully(ops, fd, { buffer, position: start })
    const first = start === 0 ? 0 : bytes.indexOf(NEWLINE) + 1
    const last = bytes.lastIndexOf(NEWLINE) + 1
    const hasLines = last > first
    yield { bytes: hasLines ? bytes.subarray(first, last) : NO_BYTES, start: start + first }
    if (hasLines || start === 0 || span >= MAX_LINE_BYTES) {
      end = hasLines ? start + first : start
      span = CHUNK_BYTES
    } else span *= 2
  }
}

const NO_BYTES = Buffer.alloc(0)
const CHUNK_BYTES = 1024 * 1024
/** A longer line is damaged. */
const MAX_LINE_BYTES = 64 * 1024 * 1024
const NEWLINE = 0x0a

interface OpenText {
  /** The first remaining piece of the message. */
  first: Envelope
  text: string
}

/**
 * The incomplete messages before `end`, of which a stopped turn left only pieces in the log. A very long one is cut to
 * its last part.
 */
function openTexts(log: { ops: FileOps; fd: number; sessionId: string }, end: number): OpenText[] {
  const start = Math.max(0, end - MAX_OPEN_BYTES)
  const bytes = readFully(log.ops, log.fd, { buffer: Buffer.allocUnsafe(end - start), position: start })
  const open = new Map<string, OpenText>()
  for (let from = 0, to = bytes.indexOf(NEWLINE); to >= 0; from = to + 1, to = bytes.indexOf(NEWLINE, from)) {
    const envelope = decodeLine(bytes.subarray(from, to), log.sessionId)
    if (envelope === undefined) continue
    const { event, turnId } = envelope
    if (event.type === 'turn:start') open.clear()
    else if (event.type === 'chat:message') open.delete(event.messageId)
    else if (event.type === 'chat:delta') {
      const id = event.messageId ?? `text-${turnId}`
      const before = open.get(id)
      if (before === undefined) open.set(id, { first: envelope, text: event.text })
      else before.text += event.text
    }
  }
  return [...open.values()]
}

const MAX_OPEN_BYTES = 256 * 1024

export interface SearchHit {
  projectRoot: string
  sessionId: string
  title: string | null
  seq: number
  at: string
  turnId: string | null
  kind: HitKind
  /** One line around the first match. */
  snippet: string
  /** The positions of the words in the snippet. */
  ranges: [start: number, end: number][]
}
