import { expect, test } from 'vitest'
import { filterItems } from './filter.logic.ts'
import type { RawItem } from './raw-item.ts'

const item = (key: string, type: string, text: string): RawItem => ({
  key,
  turnId: 't',
  type,
  summary: '',
  text,
})
const items = [
  item('1', 'tool:start', '{"name":"Bash"}'),
  item('2', 'tool:result', '{"content":"3 tests PASS"}'),
  item('3', 'chat:delta', '{"text":"a tool: Bash -x"}'),
]

test.each([
  ['', '123'],
  ['  ', '123'],
  ['bash', '13'],
  ['BASH tool', '13'],
  ['type:tool', '12'],
  ['type:tool bash', '1'],
  ['-bash', '2'],
  ['-type:tool', '3'],
  ['tests pass', '2'],
  ['nothing', ''],
  ['type:', '123'],
  ['-', '3'],
])('%j finds %j', (filter, keys) => {
  expect(
    filterItems(items, filter)
      .map(({ key }) => key)
      .join(''),
  ).toBe(keys)
})
