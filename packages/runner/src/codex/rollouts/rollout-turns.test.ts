import { expect, test } from 'vitest'
import type { JsonObject } from '../../common/json.ts'
import { isAboutThread, rolloutTurns } from './rollout-turns.ts'

const AT = '2026-01-01T00:00:00.000Z'
const AT_MS = Date.parse(AT)
const TIME = { startedAtMs: AT_MS, completedAtMs: AT_MS }

function event(type: string, fields: JsonObject = {}): JsonObject {
  return { timestamp: AT, type: 'event_msg', payload: { type, ...fields } }
}

function response(type: string, fields: JsonObject): JsonObject {
  return { timestamp: AT, type: 'response_item', payload: { type, ...fields } }
}

test('an older thread is read from its events and its calls', () => {
  const lines = [
    event('task_started', { turn_id: 't' }),
    event('user_message', { message: 'Hi', images: ['data:'], local_images: [] }),
    event('agent_reasoning', { text: 'Hm' }),
    response('function_call', { call_id: 'c', name: 'exec_command', arguments: '{"cmd":"ls"}' }),
    response('function_call_output', { call_id: 'c', output: 'a.txt' }),
    response('custom_tool_call', { call_id: 'd', name: 'apply_patch', input: '*** Begin' }),
    event('agent_message', { message: 'Done.' }),
    event('task_complete', { turn_id: 't', duration_ms: 5 }),
  ]
  expect(lines.every(isAboutThread)).toBe(true)
  expect(rolloutTurns(lines)).toEqual([
    {
      id: 't',
      status: 'completed',
      durationMs: 5,
      items: [
        {
          type: 'userMessage',
          id: 't-0',
          content: [{ type: 'text', text: 'Hi' }, { type: 'image' }],
          ...TIME,
        },
        { type: 'reasoning', id: 't-1', summary: ['Hm'], ...TIME },
        {
          type: 'dynamicToolCall',
          id: 'c',
          tool: 'exec_command',
          arguments: { cmd: 'ls' },
          status: 'completed',
          contentItems: [{ type: 'inputText', text: 'a.txt' }],
          ...TIME,
        },
        {
          type: 'dynamicToolCall',
          id: 'd',
          tool: 'apply_patch',
          arguments: { input: '*** Begin' },
          status: 'inProgress',
          ...TIME,
        },
        { type: 'agentMessage', id: 't-4', text: 'Done.', ...TIME },
      ],
    },
  ])
})

test('a thread that does not say when a turn begins: one begins with each message of a person', () => {
  const lines = [
    event('user_message', { message: 'One' }),
    response('function_call', { call_id: 'c', name: 'shell', arguments: '{"command":["ls"]}' }),
    event('agent_message', { message: 'Done.' }),
    event('user_message', { message: 'Two' }),
    event('turn_aborted', { reason: 'interrupted' }),
  ]
  const turns = rolloutTurns(lines)
  expect(turns.map(({ status, items }) => [status, ...items.map(({ type }) => type)])).toEqual([
    ['completed', 'userMessage', 'dynamicToolCall', 'agentMessage'],
    ['interrupted', 'userMessage'],
  ])
})

test('a thread of two versions: older turns are read from events, later ones from items', () => {
  const lines = [
    event('task_started', { turn_id: 'a' }),
    event('user_message', { message: 'One' }),
    response('function_call', { call_id: 'c', name: 'exec_command', arguments: '{}' }),
    event('task_complete', { turn_id: 'a' }),
    event('task_started', { turn_id: 'b' }),
    event('item_completed', { turn_id: 'b', item: { type: 'UserMessage', id: 'u' } }),
    response('function_call', { call_id: 'd', name: 'exec_command', arguments: '{}' }),
  ]
  expect(rolloutTurns(lines).map(({ items }) => items.map(({ type }) => type))).toEqual([
    ['userMessage', 'dynamicToolCall'],
    ['userMessage'],
  ])
})

test('a turn that nothing ended is still in progress, one that was stopped is interrupted', () => {
  const lines = [
    event('task_started', { turn_id: 'a' }),
    event('turn_aborted', { turn_id: 'a', reason: 'interrupted' }),
    event('task_started', { turn_id: 'b' }),
  ]
  expect(rolloutTurns(lines)).toMatchObject([{ status: 'interrupted' }, { status: 'inProgress' }])
})

test('an error has the words of the app-server', () => {
  const info = { http_connection_failed: { http_status_code: 401 } }
  const error = { message: 'No.', codex_error_info: info }
  const lines = [event('task_started', { turn_id: 'a' }), event('task_complete', { turn_id: 'a', error })]
  expect(rolloutTurns(lines)).toMatchObject([
    {
      status: 'failed',
      error: { message: 'No.', codexErrorInfo: { httpConnectionFailed: { httpStatusCode: 401 } } },
    },
  ])
})

test('lines sent to the model are not part of the thread', () => {
  expect(isAboutThread(response('message', { role: 'user' }))).toBe(false)
  expect(isAboutThread(event('token_count'))).toBe(false)
  expect(isAboutThread({})).toBe(false)
})
