import { createTranslator, type NdjsonRecord, type Translator, type UIEvent } from '@chirality/core'
import { type EventItem, isObject, type LineItem } from './raw-item.ts'
import type { RawLists } from './raw-lists.ts'
import type { TwoWayList } from './two-way-list.ts'

/** An event and a line that belong together. */
export interface Pair {
  event: EventItem | null
  line: LineItem | null
  /** `same`: the event came from the line. `near`: there is none for it, and this is the last one before. */
  relation: 'same' | 'near' | 'none'
}

/** As far as somebody waits for after a click. */
const MAX_PAGES = 20

/** The line that an event came from. What is not loaded of its turn is loaded first, on both sides. */
export async function lineOfEvent(lists: RawLists, event: EventItem): Promise<Pair> {
  const { events, lines, pairs } = await turnOf(lists, event.turnId)
  const line = pairs.get(event)
  if (line) return { event, line, relation: 'same' }
  const before = events.slice(0, events.indexOf(event)).findLast(one => pairs.has(one))
  const near = (before && pairs.get(before)) ?? lines[0] ?? null
  return { event, line: near, relation: near ? 'near' : 'none' }
}

/** The first event that came from a line, or the last before it. */
export async function eventOfLine(lists: RawLists, line: LineItem): Promise<Pair> {
  const { events, lines, pairs } = await turnOf(lists, line.turnId)
  const event = events.find(one => pairs.get(one)?.key === line.key)
  if (event) return { event, line, relation: 'same' }
  const places = new Map(lines.map(({ key }, place) => [key, place]))
  const placeOf = (key: string | undefined) => places.get(key ?? '') ?? Number.POSITIVE_INFINITY
  const near = events.findLast(one => placeOf(pairs.get(one)?.key) < placeOf(line.key)) ?? events[0] ?? null
  return { event: near, line, relation: near ? 'near' : 'none' }
}

async function turnOf({ events, lines }: RawLists, turnId: string | null) {
  await Promise.all([reachTurn(events, turnId), reachTurn(lines, turnId)])
  const of = <T extends { turnId: string | null }>(items: readonly T[]) =>
    items.filter(item => item.turnId === turnId)
  const turn = { events: of(events.get().items), lines: of(lines.get().items) }
  return { ...turn, pairs: alignTurn(turn.events, turn.lines) }
}

/** Reads back until the turn begins: what came before it is of another one. */
async function reachTurn<T extends { turnId: string | null }, C>(
  list: TwoWayList<T, C>,
  turnId: string | null,
): Promise<void> {
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { items, hasEarlier } = list.get()
    const first = items.findIndex(item => item.turnId === turnId)
    if (!hasEarlier || first > 0) return
    await list.earlier()
  }
}

/**
 * Which native line each UI event of a turn came from. No event says so, but the lines say it again: they are translated once
 * more, and what comes out is looked for in the log, in its order. An event that comes out of no line was made by us: a turn
 * that begins, a decision, a budget.
 */
export function alignTurn(
  events: readonly EventItem[],
  lines: readonly LineItem[],
): ReadonlyMap<EventItem, LineItem> {
  const told = translateAgain(lines)
  const places = new Map<string, number[]>()
  told.forEach(({ key }, place) => {
    const known = places.get(key)
    if (known) known.push(place)
    else places.set(key, [place])
  })
  const found = new Map<EventItem, LineItem>()
  let from = 0
  for (const item of events) {
    const { event } = item.envelope
    const same = places.get(keyOf(event)) ?? []
    const first = firstFrom(same, from)
    const place = same[first]
    const match = place === undefined ? undefined : told[place]
    if (place === undefined || match === undefined) continue
    const text = pieceOf(event)
    const next =
      text === undefined ? place + 1 : afterPieces(told, same.slice(first, first + MAX_PIECES), text)
    if (next === undefined) continue
    found.set(item, match.line)
    from = next
  }
  return found
}

/** More than the log joins to one event. */
const MAX_PIECES = 5000

interface Told {
  key: string
  line: LineItem
  /** Of a piece of text, what no event of the log has had yet. */
  left: string
}

function translateAgain(lines: readonly LineItem[]): Told[] {
  const translators = new Map<string, Translator | undefined>()
  return lines.flatMap(item => {
    const { line, value } = item
    const { spool, harness, text, bytes, offset } = line
    // Half a line is no event, and would only be taken for one that nobody knows.
    if (line.cut || line.torn) return []
    if (!translators.has(spool)) translators.set(spool, createTranslator(harness, { sessionId: '' }))
    const record: NdjsonRecord =
      value === undefined
        ? { kind: 'malformed', text, bytes, offset, error: '' }
        : { kind: 'json', value, bytes, offset }
    const all = translators.get(spool)?.translateRecord(record) ?? []
    // A Codex server says it of a thread, whenever; of a turn it is told by us.
    const events = isRpc(value) ? all.filter(({ type }) => type !== 'session:init') : all
    return events.map(event => ({ key: keyOf(event), line: item, left: pieceOf(event) ?? '' }))
  })
}

function isRpc(value: unknown): boolean {
  return isObject(value) && ('method' in value || 'result' in value)
}

/** Streamed text: the log joins what came as many lines. */
function pieceOf(event: UIEvent): string | undefined {
  if (event.type === 'chat:delta') return event.text
  if (event.type === 'chat:thinking' && !event.final) return event.text
  return event.type === 'tool:input' ? event.delta : undefined
}

/** Where the pieces end that the text is made of; undefined when it is not made of these. */
function afterPieces(told: readonly Told[], places: readonly number[], text: string): number | undefined {
  let rest = text
  for (const place of places) {
    const piece = told[place] as Told
    if (piece.left.startsWith(rest)) {
      piece.left = piece.left.slice(rest.length)
      return piece.left === '' ? place + 1 : place
    }
    if (!rest.startsWith(piece.left)) return undefined
    rest = rest.slice(piece.left.length)
    piece.left = ''
  }
  return undefined
}

/** What two tellings of one event have in common; how long something took is not part of it. */
function keyOf(event: UIEvent): string {
  switch (event.type) {
    case 'chat:delta':
    case 'chat:message':
      return `${event.type} ${bare(event.messageId)}`
    case 'chat:thinking':
      return `${event.type} ${bare(event.messageId)} ${event.final === true}`
    case 'tool:input':
      return `${event.type} ${bare(event.toolUseId)} ${event.delta === undefined}`
    case 'tool:start':
    case 'tool:result':
      return `${event.type} ${bare(event.toolUseId)}`
    case 'permission:request':
      return `${event.type} ${bare(event.requestId)}`
    case 'permission:resolved':
      return `${event.type} ${bare(event.requestId)} ${event.outcome}`
    case 'status':
      return `${event.type} ${event.status} ${event.message}`
    case 'session:error':
      return `${event.type} ${event.code}`
    case 'native:unknown':
      return `${event.type} ${event.nativeType}`
    default:
      return event.type
  }
}

/** Where an agent counts its items from 0 in every turn, the turn is put before the number. */
function bare(id: string | undefined): string {
  return id?.replace(/^[0-9a-f-]{36}:/, '') ?? ''
}

/** Where in the places, which are in order, those from here on begin. */
function firstFrom(places: readonly number[], from: number): number {
  let [low, high] = [0, places.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((places[middle] ?? 0) < from) low = middle + 1
    else high = middle
  }
  return low
}
