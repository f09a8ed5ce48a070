import { expect, test } from 'vitest'
import type { ThreadHistory, ThreadTurn } from '../rollouts/thread.ts'
import { withToolCalls } from './history.ts'

const turn = (id: string, ...types: string[]): ThreadTurn => ({
  id,
  status: 'completed',
  items: types.map(type => ({ type })),
})
const thread = (...turns: ThreadTurn[]): ThreadHistory => ({ id: 'x', cwd: '/p', turns, missing: 0 })
const words = (id: string) => turn(id, 'userMessage', 'agentMessage')
const calls = (id: string) => turn(id, 'userMessage', 'dynamicToolCall', 'agentMessage')
const items = ({ turns }: ThreadHistory) => turns.map(({ id, items }) => `${id} ${items.length}`)

test.each<[string, ThreadTurn[], ThreadTurn[], string[]]>([
  ['words alone, and the file has calls', [words('a')], [calls('a')], ['a 3']],
  ['another name for the turn', [words('1')], [calls('a')], ['1 3']],
  [
    'one turn of an old version, one of a new',
    [words('a'), calls('b')],
    [calls('a'), words('b')],
    ['a 3', 'b 3'],
  ],
  ['nothing at all', [], [calls('a')], ['a 3']],
  ['turns that cannot be matched', [words('1')], [calls('a'), words('b')], ['a 3', 'b 2']],
  ['a conversation without calls', [words('a')], [words('a')], ['a 2']],
  ['more than the file', [words('a'), words('b')], [], ['a 2', 'b 2']],
])('the app-server gives %s', async (_name, told, file, expected) => {
  expect(items(await withToolCalls(thread(...told), async () => thread(...file)))).toEqual(expected)
})

test('the file is not read where nothing is missing, and is not needed', async () => {
  const never = () => Promise.reject(new Error('read'))
  expect(items(await withToolCalls(thread(calls('a')), never))).toEqual(['a 3'])
  expect(items(await withToolCalls(thread(words('a')), async () => undefined))).toEqual(['a 2'])
})
