import { setImmediate } from 'node:timers/promises'
import type { Envelope } from '@chirality/core'
import type { SessionLogReader } from './read-log.ts'

/** The envelopes after a number, in order. Other work gets a turn of the event loop between two pages. */
export async function* pagesAfter(
  log: Pick<SessionLogReader, 'readAfter'>,
  seq: number,
): AsyncGenerator<Envelope[], void> {
  for (let after = seq; ; ) {
    const page = log.readAfter(after, PAGE_EVENTS, { maxBytes: PAGE_BYTES })
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    after = last.seq
    await setImmediate()
  }
}

/** The envelopes before a number, the last one first, in the same pages. */
export async function* pagesBefore(
  log: Pick<SessionLogReader, 'readBefore'>,
  seq: number,
): AsyncGenerator<Envelope[], void> {
  for (let before = seq; before > 1; ) {
    const page = log.readBefore(before, PAGE_EVENTS, { maxBytes: PAGE_BYTES })
    const first = page[0]
    if (first === undefined) return
    yield page.reverse()
    before = first.seq
    await setImmediate()
  }
}

/** A page takes some milliseconds to read and fold. */
const PAGE_EVENTS = 512
const PAGE_BYTES = 1024 * 1024
