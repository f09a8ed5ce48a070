import { expect, test } from 'vitest'
import type { JsonObject } from '../../common/json.ts'
import { conversationOf, isLink } from './conversation.ts'

function user(uuid: string, parentUuid: string | null, text = uuid): JsonObject {
  return { type: 'user', uuid, parentUuid, message: { content: text } }
}

function assistant(uuid: string, parentUuid: string | null, block: JsonObject = {}): JsonObject {
  return { type: 'assistant', uuid, parentUuid, message: { id: `m-${uuid}`, content: [block] } }
}

function call(uuid: string, parentUuid: string, messageId: string): JsonObject {
  const content = [{ type: 'tool_use', id: `call-${uuid}` }]
  return { type: 'assistant', uuid, parentUuid, message: { id: messageId, content } }
}

function result(uuid: string, parentUuid: string, callId: string): JsonObject {
  return {
    type: 'user',
    uuid,
    parentUuid,
    message: { content: [{ type: 'tool_result', tool_use_id: callId }] },
  }
}

function chosen(lines: JsonObject[]): unknown[] {
  return conversationOf(lines).lines.map(({ uuid }) => uuid)
}

test('the branch with the newest message counts', () => {
  const lines = [
    user('a', null),
    assistant('b', 'a'),
    user('old', 'b'),
    assistant('x', 'old'),
    user('new', 'b'),
  ]
  expect(chosen(lines)).toEqual(['a', 'b', 'new'])
})

test('tools that ran at the same time keep all their results', () => {
  const lines = [
    user('a', null),
    call('one', 'a', 'm'),
    call('two', 'one', 'm'),
    result('r1', 'one', 'call-one'),
    result('r2', 'two', 'call-two'),
    assistant('end', 'r2'),
  ]
  expect(chosen(lines)).toEqual(['a', 'one', 'two', 'r1', 'r2', 'end'])
})

test('a call of the same message is taken along, even when another branch continues', () => {
  const lines = [
    user('a', null),
    call('one', 'a', 'm'),
    call('two', 'a', 'm'),
    result('r', 'one', 'call-one'),
  ]
  expect(chosen(lines)).toEqual(['a', 'one', 'two', 'r'])
})

test('a summary leads on to what it stands for', () => {
  const boundary = {
    type: 'system',
    subtype: 'compact_boundary',
    uuid: 's',
    parentUuid: null,
    logicalParentUuid: 'b',
  }
  const lines = [user('a', null), assistant('b', 'a'), boundary, user('c', 's')]
  expect(conversationOf(lines)).toMatchObject({ broken: 0 })
  expect(chosen(lines)).toEqual(['a', 'b', 's', 'c'])
  expect(chosen(lines.map(line => ({ ...line, logicalParentUuid: undefined })))).toEqual(['a', 'b', 's', 'c'])
})

test('where a parent is missing the line before it takes its place', () => {
  const { lines, broken } = conversationOf([user('a', null), assistant('b', 'lost'), user('c', 'b')])
  expect(lines.map(({ uuid }) => uuid)).toEqual(['a', 'b', 'c'])
  expect(broken).toBe(1)
})

test('a cycle of parents does not loop forever', () => {
  expect(chosen([user('a', 'c'), assistant('b', 'a'), user('c', 'b')])).toEqual(['a', 'b', 'c'])
  expect(chosen([user('a', 'a')])).toEqual(['a'])
})

test('no lines give an empty conversation', () => {
  expect(conversationOf([])).toEqual({ lines: [], broken: 0 })
})

test('lines of sub-agents and lines without an id are no links', () => {
  expect(isLink(user('a', null))).toBe(true)
  expect(isLink({ ...user('a', null), isSidechain: true })).toBe(false)
  expect(isLink({ type: 'last-prompt' })).toBe(false)
})
