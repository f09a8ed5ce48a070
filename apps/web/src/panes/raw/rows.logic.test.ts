import { expect, test } from 'vitest'
import type { RawItem } from './raw-item.ts'
import { rowForKey, rowsOf } from './rows.logic.ts'

const item = (key: string, turnId: string | null): RawItem => ({
  key,
  turnId,
  type: '',
  summary: '',
  text: '',
})
const rows = rowsOf([item('1', null), item('2', 't1'), item('3', 't1'), item('4', 't2')])

test('where a turn begins, it is said once', () => {
  expect(rows.map(({ key }) => key)).toEqual(['turn 1', '1', 'turn 2', '2', '3', 'turn 4', '4'])
  expect(rows.filter(({ kind }) => kind === 'turn')).toMatchObject([
    { turnId: null },
    { turnId: 't1' },
    { turnId: 't2' },
  ])
})

test.each([
  [-1, 'ArrowDown', 1],
  [-1, 'ArrowUp', 6],
  [1, 'ArrowDown', 3],
  [6, 'ArrowUp', 4],
  [6, 'ArrowDown', undefined],
  [1, 'ArrowUp', undefined],
  [4, 'Home', 1],
  [1, 'End', 6],
  [1, 'x', undefined],
])('from row %j %s leads to %j', (from, key, to) => {
  expect(rowForKey(rows, from, key)).toBe(to)
})

test('in an empty list no key leads anywhere', () => {
  for (const key of ['ArrowDown', 'ArrowUp', 'Home', 'End']) expect(rowForKey([], -1, key)).toBeUndefined()
})
