import type { Envelope } from '@chirality/core'
import type { NativeLine, NativePage, ServerApi } from '../../state/server-api.ts'
import { type EventItem, eventItem, type LineItem, lineItem } from './raw-item.ts'
import { type Slice, TwoWayList } from './two-way-list.ts'

/** Both sides of a session: what we made of it, and what the agents printed. */
export interface RawLists {
  events: TwoWayList<EventItem, number>
  lines: TwoWayList<LineItem, string>
}

const PAGE_EVENTS = 500

export function createRawLists(api: ServerApi, sessionId: string): RawLists {
  const eventsBefore = async (before?: number) =>
    toEvents(await api.readLogBefore(sessionId, before, PAGE_EVENTS), false)
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
      last: async () => toLines(await api.readNative(sessionId)),
      before: async before => toLines(await api.readNative(sessionId, { before })),
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
