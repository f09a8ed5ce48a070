import { type Envelope, initialSessionState, reduceSession, type UIEvent } from '@chirality/core'
import { expect, test } from 'vitest'
import { buildRows } from '../chat/rows.logic.ts'
import { firstFrom, indexOfFound, occurrenceAt, Search, total } from './find.logic.ts'

const EVENTS = [
  { type: 'turn:start', message: 'Where is the Needle?' },
  { type: 'chat:thinking', messageId: 'h', text: 'a needle, hm', final: true },
  { type: 'tool:start', toolUseId: 'c', name: 'Bash', input: { command: 'grep needle .' } },
  { type: 'tool:result', toolUseId: 'c', content: 'a: \u001b[31mnee\u001b[0mdle\nb: needle', isError: false },
  {
    type: 'chat:message',
    messageId: 'm',
    text: 'The **nee**dle is in `need`.\n\n| a |\n|---|\n| needle |\n\n- [the needle](https://x.y/needle)\n\n```py\n__needle__\n```',
  },
  { type: 'tool:start', toolUseId: 'e', name: 'Edit', input: { file_path: '/p/needle.ts' } },
  {
    type: 'tool:result',
    toolUseId: 'e',
    content: 'Updated the needle.',
    isError: false,
    detail: {
      filePath: '/p/needle.ts',
      structuredPatch: [
        { oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ['-needle', '+needles', ' no'] },
      ],
    },
  },
  { type: 'chat:delta', messageId: 'l', text: 'One more need' },
]

function stateOf(events: readonly object[]) {
  const envelopes = events.map((event, index) => ({
    ...{ seq: index + 1, at: '2026-01-01T00:00:00.000Z', sessionId: 's', turnId: 't' },
    event: { sessionId: 's', ...event } as UIEvent,
  })) satisfies Envelope[]
  return reduceSession(initialSessionState('s'), envelopes)
}

function find(text: string, state = stateOf(EVENTS)) {
  return new Search(text, '/p').in(buildRows(state).rows, { live: state.live, output: {} })
}

test('a text is found as it is read: without marks of Markdown and colours, in lines, output and edits, in any case', () => {
  expect(find('NEEDLE').map(({ seq, count, inHead }) => [seq, count, inHead])).toEqual([
    [1, 1, 1],
    [2, 1, 0],
    // The command is its line; the output is two more.
    [3, 3, 1],
    // Not the address of the link; the underscores of code are code.
    [5, 4, 4],
    [6, 3, 1],
  ])
  expect(total(find('__needle__'))).toBe(1)
  expect(total(find('more  need'))).toBe(1)
  expect(total(find('n.*e'))).toBe(0)
  expect(find('(unclosed [')).toEqual([])
})

test('occurrences are counted round, and one keeps its place when others come before it', () => {
  const found = find('needle')
  expect(occurrenceAt(found, 0)).toMatchObject({ seq: 1, nth: 0 })
  expect(occurrenceAt(found, -1)).toMatchObject({ seq: 6, nth: 2, isInBody: true })
  expect(occurrenceAt(found, total(found))).toMatchObject({ seq: 1 })
  const third = occurrenceAt(found, 3)
  expect(third).toMatchObject({ seq: 3, nth: 1, isInBody: true })
  expect(third && indexOfFound(found, third)).toBe(3)
  expect(third && indexOfFound(found.slice(1), third)).toBe(2)
  expect(firstFrom(found, 3)).toBe(5)
  expect(firstFrom(found, 99)).toBe(total(found) - 1)
  expect(occurrenceAt([], 0)).toBeNull()
})

test('what grows is looked through again, what is finished is not', () => {
  const state = stateOf(EVENTS)
  const { rows } = buildRows(state)
  const search = new Search('needle', '/p')
  const before = total(search.in(rows, { live: state.live, output: {} }))
  expect(total(search.in(rows, { live: { l: 'One more needle' }, output: {} }))).toBe(before + 1)
})
