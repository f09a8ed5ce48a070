import { expect, test } from 'vitest'
import { ThreadLines } from './thread-families.ts'

const OURS = '01990000-0000-7000-8000-000000000001'
const CHILD = '01990000-0000-7000-8000-000000000002'
const GRANDCHILD = '01990000-0000-7000-8000-000000000003'
const OTHER = '01990000-0000-7000-8000-000000000004'

const about = (threadId: string, more: object = {}) => ({
  method: 'item/started',
  params: { threadId, ...more },
})
const began = (id: string, parentThreadId?: string) => ({
  method: 'thread/started',
  params: { thread: { id, ...(parentThreadId ? { parentThreadId } : {}) } },
})

function shown(lines: (object | string)[], ids = [OURS]): boolean[] {
  const filter = new ThreadLines(ids)
  return lines.map(line => filter.isOurs(Buffer.from(typeof line === 'string' ? line : JSON.stringify(line))))
}

test('lines of the thread, and not of another one that only speaks of it', () => {
  const said = about(OTHER, { item: { text: `the other thread is ${OURS}` } })
  expect(shown([about(OURS), about(OTHER), said, began(OURS), began(OTHER)])).toEqual([
    ...[true, false, false, true, false],
  ])
})

test('sub-agents of the thread, and theirs', () => {
  const family = [began(CHILD, OURS), about(CHILD), began(GRANDCHILD, CHILD), about(GRANDCHILD)]
  expect(shown(family)).toEqual([true, true, true, true])
  expect(shown([about(CHILD), began(CHILD, OTHER), about(CHILD)])).toEqual([false, false, false])
  expect(shown([about(CHILD)], [OURS, CHILD])).toEqual([true])
})

test('notifications about the server reach every session; its requests and answers do not', () => {
  const answer = (thread: object) => ({ id: 3, result: { thread } })
  expect(
    shown([
      { method: 'account/updated', params: { authMode: 'apikey' } },
      { id: 1, method: 'attestation/generate', params: {} },
      { id: 2, result: { data: ['all models'] } },
      answer({ id: OURS, turns: [] }),
      answer({ id: OTHER, preview: `goes on with ${OURS}` }),
      { id: 4, method: 'item/commandExecution/requestApproval', params: { threadId: OURS } },
    ]),
  ).toEqual([true, false, false, true, false, true])
})

test('a message of an unknown kind is of the thread that it names, in whatever field', () => {
  const future = (params: object) => ({ method: 'from/the/future', params })
  expect(
    shown([
      future({ conversationId: OURS }),
      future({ conversationId: OTHER }),
      future({ root: OURS }),
      future({}),
    ]),
  ).toEqual([true, false, true, false])
})

test('an incomplete message belongs to no thread', () => {
  expect(
    shown([`not JSON ${OURS}`, `{"method":"x","params":{"threadId":"${OURS}`, '[]', 'null', '']),
  ).toEqual([...[false, false, false, false, false]])
})
