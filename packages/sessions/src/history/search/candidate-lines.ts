import { SEARCHABLE_TYPES } from './searchable-text.ts'

/** A line of a chunk that has to be looked at: from its start to its newline. */
export interface CandidateLine {
  start: number
  end: number
  /** The beginning or the end of a turn, whether the query is in it or not. */
  isTurn: boolean
}

/** The lines that may hold the query, and the ends of turns, in order, without parsing any. */
export function candidateLines(bytes: Buffer, needle: RegExp | undefined): CandidateLine[] {
  const text = bytes.toString('latin1')
  const lines = new Map<number, CandidateLine>()
  for (const start of startsOfMatches(text, needle)) lines.set(start, lineFrom(text, start, false))
  for (let at = bytes.indexOf(TURN_EVENT); at >= 0; at = bytes.indexOf(TURN_EVENT, at + 1)) {
    const start = text.lastIndexOf('\n', at) + 1
    lines.set(start, lineFrom(text, start, true))
  }
  return [...lines.values()].sort((a, b) => a.start - b.start)
}

function* startsOfMatches(text: string, needle: RegExp | undefined): Generator<number> {
  const find = needle ?? /^/gm
  find.lastIndex = 0
  for (let match = find.exec(text); match !== null; match = find.exec(text)) {
    const start = text.lastIndexOf('\n', match.index) + 1
    const end = endOf(text, start)
    const type = typeIn(text, start, end)
    if (type === undefined) {
      // Not as we write it: parsing tells what it is.
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
const TURN_EVENT = Buffer.from(`${EVENT_TYPE}turn:`)

function typeIn(text: string, start: number, end: number): { name: string; end: number } | undefined {
  const at = text.slice(start, Math.min(end, start + MAX_HEAD_CHARS)).indexOf(EVENT_TYPE)
  if (at < 0) return undefined
  const nameStart = start + at + EVENT_TYPE.length
  const nameEnd = text.indexOf('"', nameStart)
  return { name: text.slice(nameStart, nameEnd), end: nameEnd + 1 }
}

/** Ids and times before the event take less. */
const MAX_HEAD_CHARS = 512

function lineFrom(text: string, start: number, isTurn: boolean): CandidateLine {
  return { start, end: endOf(text, start), isTurn }
}

function endOf(text: string, start: number): number {
  const end = text.indexOf('\n', start)
  return end < 0 ? text.length : end
}
