import { expect, test } from 'vitest'
import { promptOf } from './prompt.ts'

function line(content: unknown, fields: Record<string, unknown> = {}) {
  return { type: 'user', uuid: 'u', message: { role: 'user', content }, ...fields }
}

test.each([
  ['Hi', { text: 'Hi', attachments: 0 }],
  [
    [{ type: 'text', text: 'Look' }, { type: 'image' }, { type: 'document' }],
    { text: 'Look', attachments: 2 },
  ],
  [[{ type: 'image' }], { text: '', attachments: 1 }],
  [
    '<command-name>/review</command-name>\n<command-args>main</command-args>',
    { text: '/review main', attachments: 0 },
  ],
  ['<command-message>c</command-message>\n<command-name>/c</command-name>', { text: '/c', attachments: 0 }],
  ['<bash-input>ls -l</bash-input>', { text: '! ls -l', attachments: 0 }],
  [
    'What does <command-name>x</command-name> mean?',
    { text: 'What does <command-name>x</command-name> mean?', attachments: 0 },
  ],
])('%j was typed', (content, prompt) => {
  expect(promptOf(line(content))).toEqual(prompt)
})

test.each([
  [line([{ type: 'tool_result', tool_use_id: 't' }])],
  [line('')],
  [line([])],
  [line(null)],
  [line('[Request interrupted by user]')],
  [line('<local-command-stdout>x</local-command-stdout>')],
  [line('<task-notification>done</task-notification>')],
  [line('Caveat', { isMeta: true })],
  [line('Summary', { isCompactSummary: true })],
  [line('of a sub-agent', { isSidechain: true })],
  [line('wake up', { origin: { kind: 'task-notification' } })],
  [{ type: 'assistant', message: { content: 'Hi' } }],
  [{ type: 'system', subtype: 'informational', content: 'Hi' }],
  [{}],
])('%j was not', given => {
  expect(promptOf(given)).toBeUndefined()
})

test('a command that no model answers is a line of the system', () => {
  const content = '<command-name>/context</command-name><command-args></command-args>'
  expect(promptOf({ type: 'system', subtype: 'local_command', content })).toEqual({
    text: '/context',
    attachments: 0,
  })
})
