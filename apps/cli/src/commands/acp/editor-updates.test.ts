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
  expect(message(link('file:///parcels/src/a%20b.ts#L3:7'))).toBe('@src/a b.ts#L3:7')
  expect(message(link('file:///else/b.ts'))).toBe('@/else/b.ts')
  expect(message(link('https://example.com/x'))).toBe('x (https://example.com/x)')
  expect(message(link('file://%'))).toBe('file://%')
  const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' }
  expect(promptContent([image], '/parcels')).toMatchObject({ message: 'See the image.', images: [{}] })
  for (const wrong of [[], 'text', [{ type: 'audio' }], [{ type: 'image' }], [null]])
    expect(() => promptContent(wrong, '/parcels')).toThrow()
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
