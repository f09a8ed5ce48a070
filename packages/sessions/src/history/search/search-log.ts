import { setImmediate } from 'node:timers/promises'
import type { Envelope } from '@chirality/core'
import type { FileOps } from '../../files/file-ops.ts'
import { OPEN, openRegular } from '../../files/read-write.ts'
import { decodeLine } from '../../log/envelope-line.ts'
import { type CandidateLine, candidateLines } from './candidate-lines.ts'
import { chunksFromEnd } from './chunks-from-end.ts'
import { openTexts } from './open-texts.ts'
import { type HitKind, searchableText } from './searchable-text.ts'
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

/** The hits in one log, newest first, for as long as they are asked for. */
export async function* searchLog(log: LogToSearch, query: LogQuery): AsyncGenerator<LogHit> {
  const { ops, path } = log
  const fd = openRegular(ops, path, OPEN.read)
  try {
    const search = new LogSearch({ ...log, fd }, query.matcher)
    for (const { bytes, start } of chunksFromEnd(ops, fd, ops.stat(fd).size)) {
      query.signal?.throwIfAborted()
      for (const line of candidateLines(bytes, query.needle).reverse()) {
        const hits = search.look(bytes.subarray(line.start, line.end), line, start + line.start)
        for (const hit of hits) yield hit
      }
      // A server has more to do than to search.
      await setImmediate()
    }
    for (const hit of search.end()) yield hit
  } finally {
    ops.close(fd)
  }
}

class LogSearch {
  readonly #log: { ops: FileOps; fd: number; sessionId: string }
  readonly #matcher: TextMatcher
  #sawTurn = false
  /** The answer of a turn, which most often repeats its last message. That one is shown then, for it is in the transcript. */
  #answer: LogHit | undefined

  constructor(log: { ops: FileOps; fd: number; sessionId: string }, matcher: TextMatcher) {
    this.#log = log
    this.#matcher = matcher
  }

  look(bytes: Buffer, { isTurn }: CandidateLine, position: number): LogHit[] {
    const envelope = decodeLine(bytes, this.#log.sessionId)
    if (envelope === undefined) return []
    const hits = isTurn ? [...this.end(), ...this.#unfinished(envelope, position)] : []
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

  /** What was held back. */
  end(): LogHit[] {
    const held = this.#answer
    this.#answer = undefined
    return held === undefined ? [] : [held]
  }

  /** What a turn was saying when it was stopped, or is saying now. */
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
