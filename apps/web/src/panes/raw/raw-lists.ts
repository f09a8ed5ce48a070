import type { Envelope } from '@chirality/core'
import type { NativeLine, NativePage, NativePlace, ServerApi } from '../../state/server/server-api.ts'
import { type EventItem, eventItem, type LineItem, lineItem } from './raw-item.ts'
import { type Slice, TwoWayList } from './two-way-list.ts'

/** Both sides of a session: what we made of it, and what the agents printed. */
export interface RawLists {
  events: TwoWayList<EventItem, number>
  lines: TwoWayList<LineItem, string>
}

const PAGE_EVENTS = 500
const MAX_EMPTY_PAGES = 30

export function createRawLists(api: ServerApi, sessionId: string): RawLists {
  const eventsBefore = async (before?: number) =>
    toEvents(await api.readLogBefore(sessionId, before, PAGE_EVENTS), false)
  const linesBefore = async (place?: NativePlace) => {
    const first = await api.readNative(sessionId, place)
    let page = first
    // In a spool that is shared, what others printed lies between, and comes as pages without a line.
    for (let i = 0; i < MAX_EMPTY_PAGES && page.lines.length === 0 && page.before !== null; i += 1)
      page = await api.readNative(sessionId, { before: page.before })
    return { ...toLines(page), after: first.after }
  }
  return {
    events: new TwoWayList<EventItem, number>({
      last: () => eventsBefore(),
      before: eventsBefore,
      after: async seq => {
        const { envelopes, next } = await api.readLog(sessionId, seq)
        return toEvents(envelopes, next !== null)
      },
      keyOf: ({ key }) => key,
      placeOf: ({ envelope }) => envelope.seq,
      weightOf: ({ text }) => text.length,
    }),
    lines: new TwoWayList<LineItem, string>({
      last: () => linesBefore(),
      before: before => linesBefore({ before }),
      after: async after => toLines(await api.readNative(sessionId, { after })),
      keyOf: ({ key }) => key,
      placeOf: ({ line }) => line.id,
      weightOf: ({ text }) => text.length,
    }),
  }
}

function toEvents(envelopes: readonly Envelope[], more: boolean): Slice<EventItem, number> {
  const first = envelopes[0]?.seq ?? 1
  const after = envelopes.at(-1)?.seq ?? null
  return { items: envelopes.map(eventItem), before: first > 1 ? first : null, after, more }
}

function toLines({ lines, before, after, more, problems }: NativePage): Slice<LineItem, string> {
  const notes = problems.map(({ message }) => message)
  return { items: lines.map((line: NativeLine) => lineItem(line)), before, after, more, notes }
}
