import type { Client } from '@chirality/client'
import type { Envelope } from '@chirality/core'
import type { NativeLine, NativePage } from '../../state/server/answers.ts'
import { type EventItem, eventItem, type LineItem, lineItem } from './raw-item.ts'
import { type Slice, TwoWayList } from './two-way-list.ts'

type NativePlace = { before: string } | { after: string }

/** Both sides of a session: what we made of it, and what the agents printed. */
export interface RawLists {
  events: TwoWayList<EventItem, number>
  lines: TwoWayList<LineItem, string>
}

const PAGE_EVENTS = 500
const MAX_EMPTY_PAGES = 30

export function createRawLists(client: Client, sessionId: string): RawLists {
  const eventsBefore = async (before?: number) =>
    toEvents(
      (await client.sessions.history.query({ sessionId, before, limit: PAGE_EVENTS })) as Envelope[],
      false,
    )
  const linesBefore = async (place?: NativePlace) => {
    const first = await client.sessions.nativeLines.query({ sessionId, ...place })
    let page = first
    // In a spool that is shared, what others printed lies between, and comes as pages without a line.
    for (let i = 0; i < MAX_EMPTY_PAGES && page.lines.length === 0 && page.before !== null; i += 1)
      page = await client.sessions.nativeLines.query({ sessionId, before: page.before })
    return { ...toLines(page), after: first.after }
  }
  return {
    events: new TwoWayList<EventItem, number>({
      last: () => eventsBefore(),
      before: eventsBefore,
      after: async seq => {
        const { envelopes, next } = await logAfter(client, sessionId, seq)
        return toEvents(envelopes, next !== null)
      },
      keyOf: ({ key }) => key,
      placeOf: ({ envelope }) => envelope.seq,
      weightOf: ({ text }) => text.length,
    }),
    lines: new TwoWayList<LineItem, string>({
      last: () => linesBefore(),
      before: before => linesBefore({ before }),
      after: async after => toLines(await client.sessions.nativeLines.query({ sessionId, after })),
      keyOf: ({ key }) => key,
      placeOf: ({ line }) => line.id,
      weightOf: ({ text }) => text.length,
    }),
  }
}

/** One page of the log after an event; `next` is null at its end. */
export async function logAfter(
  client: Client,
  sessionId: string,
  after: number,
): Promise<{ envelopes: Envelope[]; next: number | null }> {
  const page = await client.sessions.export.query({ sessionId, format: 'ndjson', after })
  const lines = page.text.split('\n').filter(line => line !== '')
  return { envelopes: lines.map(line => JSON.parse(line) as Envelope), next: page.next }
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
