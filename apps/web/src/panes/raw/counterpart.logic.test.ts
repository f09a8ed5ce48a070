import type { Envelope, UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { cannedClient } from '../../../test/support/canned-client.tsx'
import type { NativeLine } from '../../state/server/answers.ts'
import { eventOfLine, lineOfEvent } from './counterpart.logic.ts'
import { createRawLists } from './raw-lists.ts'

const TOOL = { type: 'tool_use', id: 'u1', name: 'Bash', input: { command: 'ls' } }
const SPOOL = [
  { type: 'system', subtype: 'init', session_id: 'n', model: 'm', tools: [], cwd: '/x' },
  { type: 'assistant', message: { id: 'm1', role: 'assistant', content: [TOOL] } },
  { type: 'rubbish_that_says_nothing' },
  {
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'u1', content: 'a' }] },
  },
]

function session() {
  const events: UIEvent[] = [
    { type: 'turn:start', sessionId: 's', message: 'Go' },
    { type: 'session:init', sessionId: 's', claudeSessionId: 'n', model: 'm', tools: [] },
    { type: 'tool:start', sessionId: 's', toolUseId: 'u1', name: 'Bash', input: { command: 'ls' } },
    { type: 'budget', sessionId: 's', scope: 'turn', spentUsd: 1, limitUsd: 2, exceeded: false },
    { type: 'tool:result', sessionId: 's', toolUseId: 'u1', content: 'a', isError: false },
  ]
  const turn = (turnId: string, from: number) =>
    events.map((event, i): Envelope => ({ seq: from + i, at: '', sessionId: 's', turnId, event }))
  const log = [...turn('t1', 1), ...turn('t2', 6)]
  const lines = ['t1', 't2'].flatMap(turnId =>
    SPOOL.map((value, offset): NativeLine => {
      const text = JSON.stringify(value)
      const spool = `${turnId}.ndjson`
      const place = { id: `${turnId}.${offset}`, turnId, harness: 'claude-code', spool, offset }
      return { ...place, bytes: text.length, text, cut: false, torn: false }
    }),
  )
  // One at a time, so that all but the last has to be asked for.
  const server = cannedClient({
    'sessions.history': ({ before = 11 }: { before?: number }) =>
      log.filter(({ seq }) => seq < before).slice(-1),
    'sessions.nativeLines': ({ before: wanted }: { before?: string }) => {
      const end = wanted === undefined ? lines.length : lines.findIndex(({ id }) => id === wanted)
      const before = end > 1 ? (lines[end - 1]?.id ?? null) : null
      return { lines: lines.slice(end - 1, end), before, after: 'end', more: false, problems: [] }
    },
  })
  return createRawLists(server, 's')
}

async function opened() {
  const lists = session()
  await Promise.all([lists.events.refresh(), lists.lines.refresh()])
  return lists
}

test('an event of the last turn finds its line, though nothing of the turn was loaded but its end', async () => {
  const lists = await opened()
  const last = lists.events.get().items.at(-1)
  if (!last) throw new Error('no event')
  expect(await lineOfEvent(lists, last)).toMatchObject({ line: { key: 't2.3' }, relation: 'same' })
  expect(lists.events.get().items.map(({ key }) => key)).toEqual(['5', '6', '7', '8', '9', '10'])
  const at = (seq: string) => {
    const item = lists.events.get().items.find(({ key }) => key === seq)
    if (!item) throw new Error(`no event ${seq}`)
    return lineOfEvent(lists, item)
  }
  expect(await at('8')).toMatchObject({ line: { key: 't2.1' }, relation: 'same' })
  expect(await at('9')).toMatchObject({ line: { key: 't2.1' }, relation: 'near' })
  expect(await at('6')).toMatchObject({ line: { key: 't2.0' }, relation: 'near' })
})

test('a line finds its event, and one that became none the last before it', async () => {
  const lists = await opened()
  const last = lists.lines.get().items.at(-1)
  if (!last) throw new Error('no line')
  expect(await eventOfLine(lists, last)).toMatchObject({ event: { key: '10' }, relation: 'same' })
  const rubbish = lists.lines.get().items.find(({ key }) => key === 't2.2')
  if (!rubbish) throw new Error('no such line')
  expect(await eventOfLine(lists, rubbish)).toMatchObject({ event: { key: '8' }, relation: 'near' })
})

test('a session without a spool has no line for any event', async () => {
  const lists = await opened()
  const none = {
    ...lists,
    lines: createRawLists(cannedClient({ 'sessions.nativeLines': () => EMPTY }), 's').lines,
  }
  await none.lines.refresh()
  const last = none.events.get().items.at(-1)
  if (!last) throw new Error('no event')
  expect(await lineOfEvent(none, last)).toMatchObject({ line: null, relation: 'none' })
})

const EMPTY = { lines: [], before: null, after: null, more: false, problems: [] }
