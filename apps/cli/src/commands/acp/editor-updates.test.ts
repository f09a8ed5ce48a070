import type { UIEvent } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { EditorUpdates } from './editor-updates.ts'
import { answeredInEditor } from './permission-card.ts'
import { promptContent } from './prompt-content.ts'

const sessionId = 's'
const updates = () => new EditorUpdates('/parcels')

describe('events become updates', () => {
  test('a whole text sends only what its pieces did not', () => {
    const to = updates()
    const piece: UIEvent = { type: 'chat:delta', sessionId, messageId: 'm', text: 'Hel' }
    const whole: UIEvent = { type: 'chat:message', sessionId, messageId: 'm', text: 'Hello' }
    expect(to.of(piece, true)).toMatchObject([{ content: { text: 'Hel' } }])
    expect(to.of(whole, true)).toMatchObject([{ content: { text: 'lo' } }])
    expect(to.of({ ...whole, aborted: true }, true)).toEqual([])
    const other: UIEvent = { ...whole, messageId: 'n', text: 'Alone' }
    expect(to.of(other, true)).toMatchObject([{ content: { text: 'Alone' } }])
    expect(to.of({ ...other, parentToolUseId: 'task' }, true)).toEqual([])
  })

  test('an edit is a difference with absolute paths; its result keeps it, and a failure says why', () => {
    const to = updates()
    const input = { file_path: 'a.ts', old_string: 'one', new_string: 'two' }
    const start: UIEvent = { type: 'tool:start', sessionId, toolUseId: 't', name: 'Edit', input }
    expect(to.of(start, true)).toMatchObject([
      {
        ...{ sessionUpdate: 'tool_call', toolCallId: 't', kind: 'edit', title: 'Edit a.ts' },
        locations: [{ path: '/parcels/a.ts' }],
        content: [{ type: 'diff', path: '/parcels/a.ts', oldText: 'one', newText: 'two' }],
      },
    ])
    const result: UIEvent = { type: 'tool:result', sessionId, toolUseId: 't', content: 'ok', isError: false }
    expect(to.of(result, true)).toMatchObject([{ status: 'completed', content: [{ type: 'diff' }] }])
    to.of(start, true)
    expect(to.of({ ...result, isError: true, content: 'no such text' }, true)).toMatchObject([
      { status: 'failed', content: [{ type: 'content', content: { text: 'no such text' } }] },
    ])
  })

  test('a call whose input a person edited is shown as what runs, also if the agent tells its own input after the answer', () => {
    const to = updates()
    const own = { file_path: 'a.ts', content: 'mine' }
    const call = { sessionId, toolUseId: 't' }
    to.of({ type: 'tool:start', ...call, name: 'Write', input: {} }, true)
    to.of(
      {
        ...{ type: 'permission:request', sessionId, requestId: 'r', toolUseId: 't', kind: 'tool' },
        ...{ toolName: 'Write', input: own },
      },
      true,
    )
    const updatedInput = { file_path: 'b.ts', content: 'yours' }
    const answer: UIEvent = {
      ...{ type: 'permission:resolved', sessionId, requestId: 'r', outcome: 'allowed', by: 'person' },
      ...{ updatedInput, toolUseId: 't' },
    }
    const shown = {
      ...{
        title: 'Write b.ts (edited by you)',
        rawInput: updatedInput,
        locations: [{ path: '/parcels/b.ts' }],
      },
      content: [{ type: 'diff', path: '/parcels/b.ts', oldText: null, newText: 'yours' }],
    }
    expect(to.of(answer, true)).toMatchObject([shown])
    expect(to.of({ type: 'tool:input', ...call, input: own }, true)).toEqual([])
    expect(to.of({ type: 'tool:result', ...call, content: 'ok', isError: false }, true)).toMatchObject([
      { status: 'completed', content: shown.content },
    ])
  })

  test('a to-do list is a plan, and the message and the error of a turn from elsewhere are shown', () => {
    const to = updates()
    const todos = [
      { content: 'Look', status: 'completed' },
      { content: 'Do', status: 'in_progress' },
    ]
    const start: UIEvent = {
      ...{ type: 'tool:start', sessionId, toolUseId: 't', name: 'TodoWrite', input: { todos } },
    }
    expect(to.of(start, true)[1]).toEqual({
      sessionUpdate: 'plan',
      entries: [
        { content: 'Look', priority: 'medium', status: 'completed' },
        { content: 'Do', priority: 'medium', status: 'in_progress' },
      ],
    })
    const said: UIEvent = { type: 'turn:start', sessionId, message: 'Hi' }
    expect(to.of(said, true)).toEqual([])
    expect(to.of(said, false)).toMatchObject([{ sessionUpdate: 'user_message_chunk' }])
    const error: UIEvent = { type: 'session:error', sessionId, error: 'Overloaded.', code: 'overloaded' }
    expect(to.of(error, true)).toEqual([])
    expect(to.of(error, false)).toMatchObject([{ content: { text: 'Overloaded.\n' } }])
  })
})

test('links to files are named by their path, other links by their address', () => {
  const link = (uri: string) => ({ type: 'resource_link', name: 'x', uri })
  const message = (...blocks: object[]) => promptContent(blocks, '/parcels').message
  expect(message(link('file:///parcels/src/a%20b.ts#L3:7'))).toBe('@"src/a b.ts#L3:7"')
  expect(message(link('file:///else/b.ts'))).toBe('@/else/b.ts')
  expect(message(link('https://example.com/x'))).toBe('x (https://example.com/x)')
  expect(message(link('file://%'))).toBe('file://%')
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
  expect(promptContent([image], '/parcels')).toMatchObject({ message: 'See the image.', images: [{}] })
  for (const wrong of [[], 'text', [{ type: 'audio' }], [{ type: 'image' }], [null]])
    expect(() => promptContent(wrong, '/parcels')).toThrow()
})

describe('blocks of a prompt stay apart', () => {
  const text = (words: string) => ({ type: 'text', text: words })
  const link = (file: string) => ({ type: 'resource_link', name: file, uri: `file:///parcels/${file}` })
  const file = { type: 'resource', resource: { uri: 'file:///parcels/b.txt', text: 'herons' } }
  const blob = { uri: 'file:///parcels/c.pdf', mimeType: 'application/pdf', blob: 'AAAA' }
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' }

  test.each([
    [[text('look'), link('a.txt'), link('README.md'), text('x')], 'look @a.txt @README.md x'],
    [[text('look '), link('a.txt'), text(', then go')], 'look @a.txt , then go'],
    [[text('one'), text('two')], 'one\n\ntwo'],
    [[text('one\n'), text('two')], 'one\ntwo'],
    [[text('one'), image, text('two')], 'one\n\ntwo'],
    [[text('see'), { type: 'resource', resource: blob }, text('now')], 'see @c.pdf now'],
    [
      [text('see'), file, link('a.txt')],
      'see @b.txt @a.txt\n\n<context ref="file:///parcels/b.txt">\nherons\n</context>',
    ],
  ])('%#', (blocks, message) => expect(promptContent(blocks, '/parcels').message).toBe(message))
})

test.each([
  ['ok', '```console\nok\n```'],
  ['a\n```\nb\n', '````console\na\n```\nb\n````'],
  ['`````', '``````console\n`````\n``````'],
])('the output of a command is fenced: %j', (content, fenced) => {
  const to = updates()
  const input = { command: 'ls', description: 'List files' }
  const start: UIEvent = { type: 'tool:start', sessionId, toolUseId: 't', name: 'Bash', input }
  expect(to.of(start, true)).toMatchObject([
    {
      ...{ title: 'ls', rawInput: input, locations: [{ path: '/parcels' }] },
      content: [{ content: { text: 'List files' } }],
    },
  ])
  const result: UIEvent = { type: 'tool:result', sessionId, toolUseId: 't', content, isError: false }
  expect(to.of(result, true)).toMatchObject([
    { rawOutput: content, content: [{ content: { text: fenced } }] },
  ])
})

test('a file of the project is named by its path in it, another one by its whole path', () => {
  const titleOf = (file: string) => {
    const call = { name: 'Read', input: { file_path: file } }
    const [update] = updates().of({ type: 'tool:start', sessionId, toolUseId: 't', ...call }, true)
    return [update?.title, update?.locations]
  }
  expect(titleOf('/parcels/src/a.txt')).toEqual(['Read src/a.txt', [{ path: '/parcels/src/a.txt' }]])
  expect(titleOf('/else/a.txt')).toEqual(['Read /else/a.txt', [{ path: '/else/a.txt' }]])
})

describe('a choice in the editor is a decision', () => {
  const request = {
    ...{ type: 'permission:request' as const, sessionId, requestId: 'r', kind: 'tool' as const },
    ...{ toolName: 'Bash', input: { command: 'ls' }, raw: null },
  }
  const selected = (optionId: string) => async () => ({ outcome: { outcome: 'selected', optionId } })

  test.each([
    ['allow', { behavior: 'allow' }],
    ['session', { behavior: 'allow', remember: 'session' }],
    ['reject', { behavior: 'deny' }],
    ['always', undefined],
    ['made up', undefined],
  ])('%s', async (option, decision) => {
    expect(await answeredInEditor(request, selected(option))).toEqual(decision)
  })

  test('"always" is offered where a rule says exactly this call', async () => {
    const always = { rule: 'allow Bash(ls)', words: 'this exact command' }
    expect(await answeredInEditor({ ...request, always }, selected('always'))).toEqual({
      ...{ behavior: 'allow', remember: 'always' },
    })
  })

  test('each question is asked; one that is not answered denies, a dismissed one decides nothing', async () => {
    const input = { questions: [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }] }
    const question = { ...request, kind: 'question' as const, toolName: 'AskUserQuestion', input }
    expect(await answeredInEditor(question, selected('answer-1'))).toEqual({
      ...{ behavior: 'allow', updatedInput: { ...input, answers: { 'Which?': 'B' } } },
    })
    expect(await answeredInEditor(question, selected('reject'))).toMatchObject({ behavior: 'deny' })
    expect(await answeredInEditor(question, async () => ({ outcome: { outcome: 'cancelled' } }))).toBe(
      undefined,
    )
  })
})
