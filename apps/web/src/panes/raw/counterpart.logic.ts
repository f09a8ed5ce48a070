import { alignTurn } from './align.logic.ts'
import type { EventItem, LineItem } from './raw-item.ts'
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
