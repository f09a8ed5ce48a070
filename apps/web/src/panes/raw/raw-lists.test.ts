import { expect, test } from 'vitest'
import { cannedClient } from '../../../test/support/canned-client.tsx'
import type { NativeLine } from '../../state/server/answers.ts'
import { createRawLists } from './raw-lists.ts'

const line = (offset: number): NativeLine => ({
  ...{ id: `a.${offset}`, turnId: 't', harness: 'codex', spool: 'a.ndjson', offset, bytes: 2, text: '{}' },
  ...{ cut: false, torn: false },
})

test('pages without a line, of a spool that is shared, are passed over; what comes next is asked for from the end', async () => {
  const asked: object[] = []
  const readNative = ({ sessionId: _, ...place }: { sessionId: string; before?: string; after?: string }) => {
    asked.push(place)
    const at = place.before === undefined ? 9 : Number(place.before)
    if (place.after !== undefined) return { lines: [], before: null, after: '9', more: false, problems: [] }
    const lines = at === 5 ? [line(4)] : []
    return { lines, before: at > 5 ? `${at - 1}` : null, after: `${at}`, more: false, problems: [] }
  }
  const { lines } = createRawLists(cannedClient({ 'sessions.nativeLines': readNative }), 's')
  await lines.refresh()
  expect(lines.get()).toMatchObject({ items: [{ key: 'a.4' }], hasEarlier: false, loaded: true })
  await lines.refresh()
  expect(asked.at(-1)).toEqual({ after: '9' })
  expect(asked).toHaveLength(6)
})

test('a spool in which others never stop is given up for now, and can be read further', async () => {
  let reads = 0
  const readNative = () => {
    reads += 1
    return { lines: [], before: `${1000 - reads}`, after: 'end', more: false, problems: [] }
  }
  const { lines } = createRawLists(cannedClient({ 'sessions.nativeLines': readNative }), 's')
  await lines.refresh()
  expect(lines.get()).toMatchObject({ items: [], hasEarlier: true, loaded: true })
  expect(reads).toBeLessThan(50)
})
