import { expect, test } from 'vitest'
import { assistant, eventsOf, toolResult, toolUse, user } from '../../../../test/support/claude-lines.ts'

const sessionId = 'ours'

test.each([
  ['a string', 'plain', 'plain'],
  ['nothing', undefined, ''],
  ['null', null, ''],
  [
    'texts',
    [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ],
    'a\nb',
  ],
  [
    'a picture',
    [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } }],
    '[image image/png]',
  ],
  [
    'text and picture',
    [
      { type: 'text', text: 'see' },
      { type: 'image', source: {} },
    ],
    'see\n[image]',
  ],
  ['a tool reference', [{ type: 'tool_reference', tool_name: 'Read' }], '[tool_reference Read]'],
  ['one bare part', { type: 'text', text: 'a' }, 'a'],
  ['rubbish', [7, null, 'x'], '[content]\n[content]\nx'],
])('E22: content of %s', (_, content, expected) => {
  expect(eventsOf(toolResult('t1', content))).toStrictEqual([
    { type: 'tool:result', sessionId, toolUseId: 't1', content: expected, isError: false },
  ])
})

test('E22: a failed tool has isError', () => {
  expect(eventsOf(toolResult('t1', 'no', { is_error: true }))).toMatchObject([
    { content: 'no', isError: true },
  ])
})

test('E23: detail is the structured result without what can be megabytes', () => {
  const patch = [{ oldStart: 1, lines: ['-a', '+b'] }]
  const edit = { filePath: '/x', originalFile: 'a'.repeat(1000), structuredPatch: patch }
  expect(eventsOf(toolResult('t1', 'ok', { tool_use_result: edit }))).toMatchObject([
    { detail: { filePath: '/x', structuredPatch: patch } },
  ])
  const picture = { type: 'image', file: { base64: 'iVBO', type: 'image/png', originalSize: 70 } }
  expect(eventsOf(toolResult('t2', 'ok', { tool_use_result: picture }))).toMatchObject([
    { detail: { type: 'image', file: { type: 'image/png', originalSize: 70 } } },
  ])
  expect(edit).toHaveProperty('originalFile')
  expect(picture.file).toHaveProperty('base64')
})

test.each([
  ['a text', 'Error: no'],
  ['a list', [1]],
  ['nothing', undefined],
])('E23: no detail from %s', (_, raw) => {
  expect(eventsOf(toolResult('t1', 'x', { tool_use_result: raw }))[0]).not.toHaveProperty('detail')
})

test('E23: one detail for several results belongs to none of them', () => {
  const blocks = ['t1', 't2'].map(tool_use_id => ({ type: 'tool_result', tool_use_id, content: 'x' }))
  const events = eventsOf(user(blocks, { tool_use_result: { stdout: 'x' } }))
  expect(events).toHaveLength(2)
  for (const event of events) expect(event).not.toHaveProperty('detail')
})

test('E3: results of a sub-agent carry its call', () => {
  const nested = { parent_tool_use_id: 'agent' }
  const events = eventsOf(assistant('m', toolUse('t1'), nested), toolResult('t1', 'x', nested))
  expect(events[1]).toMatchObject({ type: 'tool:result', parentToolUseId: 'agent' })
})

test('a sub-agent in the background: what the model is told of it is not shown', () => {
  const told = [{ type: 'text', text: 'Launched. (internal metadata, never quote) agentId: a1' }]
  const line = { ...toolResult('t1', told), tool_use_result: { status: 'async_launched', agentId: 'a1' } }
  expect(eventsOf(line)).toMatchObject([{ content: 'The agent works in the background.', isError: false }])
})
