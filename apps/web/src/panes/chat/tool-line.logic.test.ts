import type { ToolItem } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { groupNodes, isGroup } from './rows.logic.ts'
import { editedText, groupLine, groupTime, toolLine } from './tool-line.logic.ts'

let seq = 0
function tool(name: string, input: Record<string, unknown>, changes: Partial<ToolItem> = {}): ToolItem {
  seq += 1
  return {
    ...{ kind: 'tool', id: `t${seq}`, seq, turnId: 't', at: '2026-01-01T00:00:00Z', name, input },
    ...{ status: 'done', content: 'a\nb', endedAt: null, durationMs: 100 },
    ...changes,
  }
}
const line = (item: ToolItem) => {
  const { icon, verb, object, note } = toolLine(item, '/p')
  return [icon, `${verb} ${object}`, note].filter(Boolean).join(' | ')
}

test.each([
  [tool('Read', { file_path: '/p/a.ts' }), 'file | Read a.ts'],
  [tool('Read', { file_path: '/p/a.ts' }, { status: 'running', content: null }), 'file | Reading a.ts'],
  [tool('Bash', { command: 'npm test' }), 'terminal | Ran npm test'],
  [tool('command', { command: "/bin/bash -lc 'npm test'" }), 'terminal | Ran npm test'],
  [tool('Bash', { command: 'npm test' }, { status: 'failed' }), 'terminal | Ran npm test | failed'],
  [tool('Grep', { pattern: 'x(' }), 'search | Searched x( | 2 lines'],
  [tool('Write', { file_path: '/p/a.ts', content: 'x' }), 'file-add | Wrote a.ts'],
  [tool('Edit', { file_path: '/p/a.ts', old_string: 'x', new_string: 'y' }), 'edit | Edited a.ts'],
  [tool('WebFetch', { url: 'https://a.example' }), 'globe | Fetched https://a.example'],
  [tool('mcp__github__list', { owner: 'x' }), 'tool | github list x'],
])('a call is a line with an icon, a verb and what it is about: %#', (item, expected) => {
  expect(line(item)).toBe(expected)
})

test('a call that waits for a person does not say that it runs', () => {
  const wait = { from: '', askedAt: '2026-01-01T00:00:00Z', waitedMs: 0 }
  expect(line(tool('Bash', { command: 'ls' }, { status: 'running', content: null, wait }))).toBe(
    'terminal | Wants to run ls',
  )
})

test('a call that a person denied says so, and is no failure of the tool', () => {
  const decided = { outcome: 'denied', by: 'person', message: 'not now' } as const
  const denied = tool('Bash', { command: 'rm x' }, { status: 'failed', durationMs: null, decided })
  const words = { icon: 'ban', verb: 'Denied', object: 'rm x', reason: 'by you: “not now”', note: '' }
  expect(toolLine(denied, '/p')).toMatchObject({ ...words, isBad: false })
})

test('an edit that failed is not said to be made, and its reason is on the line', () => {
  const input = { file_path: '/p/a.ts', old_string: 'x', new_string: 'y' }
  const failed = tool('Edit', input, { status: 'failed', content: 'String to replace not found.' })
  const words = { verb: 'Did not edit', object: 'a.ts', reason: 'String to replace not found.' }
  expect(toolLine(failed, '/p')).toMatchObject({ ...words, isBad: true })
})

test('a command that a person edited says what ran, and what was asked for', () => {
  const asked = { input: { command: 'rm -rf dist' } }
  const decided = { outcome: 'allowed', by: 'person' } as const
  const { verb, object, edited } = toolLine(tool('Bash', { command: 'ls' }, { asked, decided }), '/p')
  expect([verb, object, edited && editedText(edited)]).toEqual([
    'Ran',
    'ls',
    'edited by you; asked for rm -rf dist',
  ])
})

describe('calls in a row', () => {
  const shape = (...items: ToolItem[]) =>
    groupNodes(items.map(item => ({ item, children: [] }))).map(entry =>
      isGroup(entry) ? `${entry.kind} ${entry.tools.length}` : 'one',
    )
  const read = (path: string, changes: Partial<ToolItem> = {}) => tool('Read', { file_path: path }, changes)

  test('of the same kind are one group; another kind begins anew', () => {
    const run = tool('Bash', { command: 'ls' })
    expect(shape(read('a'), read('b'), run, read('c'), read('d'), read('e'))).toEqual([
      'read 2',
      'one',
      'read 3',
    ])
  })

  test('edits, failures and calls that wait for a person are never hidden in one', () => {
    const wait = { from: '', askedAt: '2026-01-01T00:00:00Z', waitedMs: 0 }
    const edit = () => tool('Edit', { file_path: 'a', old_string: 'x', new_string: 'y' })
    expect(shape(edit(), edit())).toEqual(['one', 'one'])
    expect(shape(read('a'), read('b', { status: 'failed' }), read('c'))).toEqual(['one', 'one', 'one'])
    expect(shape(read('a'), read('b', { status: 'running', wait }))).toEqual(['one', 'one'])
  })

  test('with the steps of a sub-agent stand alone', () => {
    const [first, second] = [read('a'), read('b')]
    const step = { item: read('c'), children: [] }
    const entries = groupNodes([
      { item: first, children: [step] },
      { item: second, children: [] },
    ])
    expect(entries.some(isGroup)).toBe(false)
  })

  test('are counted by what they are about, in the present tense while one runs', () => {
    const files = [read('a'), read('a'), read('b')]
    expect(groupLine('read', files)).toEqual({ icon: 'files', verb: 'Read', object: '2 files' })
    expect(groupTime(files)).toBe(300)
    const running = [...files, read('c', { status: 'running', durationMs: null })]
    expect(groupLine('read', running)).toMatchObject({ verb: 'Reading', object: '3 files' })
    expect(groupTime(running)).toBeNull()
  })
})
