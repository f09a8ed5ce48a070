import { expect, test } from 'vitest'
import { eventsOf, statuses, text, user } from '../../../../test/support/claude-lines.ts'

test('E68: the user’s own words are not repeated', () => {
  expect(eventsOf(user('hello', { isReplay: true }))).toStrictEqual([])
  const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } }
  expect(eventsOf(user([picture]))).toStrictEqual([])
})

test('E3: the prompt of a sub-agent is no event', () => {
  expect(eventsOf(user([text('please do')], { parent_tool_use_id: 'agent' }))).toStrictEqual([])
  expect(eventsOf(user('please do', { parent_tool_use_id: 'agent' }))).toStrictEqual([])
})

test.each(['[Request interrupted by user]', '[Request interrupted by user for tool use]'])(
  'E68: %s',
  message => {
    expect(statuses(user([text(message)]))).toMatchObject([
      { status: 'interrupted', level: 'warn', message: 'Interrupted by the user' },
    ])
  },
)

test('E68: what the CLI writes in the user’s name is a notice of one line', () => {
  const long = `Output token limit hit.\n${'x'.repeat(5000)}`
  expect(statuses(user([text(long)], { isSynthetic: true }))).toStrictEqual([
    {
      type: 'status',
      sessionId: 'ours',
      status: 'notice',
      message: 'Output token limit hit.',
      level: 'info',
      data: { kind: 'user_message', text: long },
    },
  ])
})
