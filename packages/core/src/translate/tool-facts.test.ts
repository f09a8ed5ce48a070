import { describe, expect, test } from 'vitest'
import type { UIEvent } from '../index.ts'
import { createTranslator, editsOf, factsOf, todosOf, toolSubject } from '../index.ts'
import { outputCut, toolFacts } from './tool-facts.ts'

describe('E26: the kind, the label and the object of a call', () => {
  test.each([
    ['Bash', { command: 'npm test' }, 'execute', 'Bash', 'npm test'],
    ['bash', { command: 'npm\n  test' }, 'execute', 'Bash', 'npm test'],
    ['command', { command: "/bin/bash -lc 'echo a && cat b'" }, 'execute', 'Command', 'echo a && cat b'],
    ['Read', { file_path: '/p/a.ts' }, 'read', 'Read', '/p/a.ts'],
    ['read', { file_path: 'a.ts' }, 'read', 'Read', 'a.ts'],
    ['Grep', { path: '/p', pattern: 'TODO' }, 'search', 'Grep', 'TODO'],
    ['glob', { pattern: '**/*.ts' }, 'search', 'Glob', '**/*.ts'],
    ['WebFetch', { prompt: 'Read it', url: 'https://a.example' }, 'fetch', 'WebFetch', 'https://a.example'],
    ['web_search', { query: 'what' }, 'fetch', 'Search', 'what'],
    ['Task', { prompt: 'Do it', description: 'The job' }, 'task', 'Task', 'The job'],
    ['spawn_agent', { prompt: 'Do it' }, 'task', 'Agent', 'Do it'],
    ['ExitPlanMode', { plan: 'First' }, 'think', 'Plan', 'First'],
    ['mcp__git_hub__list', { n: 1 }, 'other', 'git_hub list', ''],
    ['mcp__bank__login', { password: 'hunter2', account: 'A1' }, 'other', 'bank login', 'A1'],
    ['__proto__', {}, 'other', '__proto__', ''],
    ['Other', { a: 1, words: 'x'.repeat(400) }, 'other', 'Other', `${'x'.repeat(299)}…`],
  ])('%s %j', (name, input, kind, label, object) => {
    expect(toolFacts(name, input)).toMatchObject({ kind, label, object })
  })

  test('the facts of a command have the whole command without its shell, and its purpose', () => {
    const input = { command: "bash -lc 'a\nb'", description: 'Try it' }
    expect(toolFacts('command', input)).toEqual({
      kind: 'execute',
      label: 'Command',
      object: 'a b',
      command: 'a\nb',
      purpose: 'Try it',
    })
  })

  test('a call of a sort that edits nothing has no edits, whatever its input looks like', () => {
    expect(toolFacts('mcp__x__write', { file_path: 'a', content: 'b' }).edits).toBeUndefined()
  })
})

test.each([
  ['Write', { file_path: '/p/a', content: 'new' }, { path: '/p/a', change: 'add', text: 'new' }],
  [
    'edit',
    { file_path: 'a', old_string: 'x', new_string: 'y', replace_all: true },
    { path: 'a', change: 'update', swaps: [{ before: 'x', after: 'y', all: true }] },
  ],
  [
    'MultiEdit',
    { file_path: 'a', edits: [{ old_string: 'x', new_string: 'y' }, null, { old_string: 1 }] },
    { path: 'a', change: 'update', swaps: [{ before: 'x', after: 'y' }] },
  ],
  ['NotebookEdit', { notebook_path: 'n.ipynb', new_source: 'x' }, { path: 'n.ipynb', change: 'update' }],
  ['file_change', { changes: [{ path: 'a', kind: 'add' }, 3] }, { path: 'a', change: 'add' }],
])('the edits of %s %j', (name, input, edit) => {
  expect(toolFacts(name, input)).toMatchObject({ kind: 'edit', object: edit.path, edits: [edit] })
})

test('the to-do list of a call, and of a plan that is no call', () => {
  const todos = [
    { content: 'a', status: 'completed' },
    { content: 'b', status: 'in_progress' },
    { content: 'c', status: 'pending' },
    { content: 3 },
  ]
  const states = [
    { text: 'a', state: 'done' },
    { text: 'b', state: 'active' },
    { text: 'c', state: 'open' },
  ]
  expect(toolFacts('TodoWrite', { todos })).toMatchObject({ kind: 'think', object: '3 steps', todos: states })
  const data = {
    active: 'b',
    todos: states.map(({ text, state }) => ({ text, completed: state === 'done' })),
  }
  expect(todosOf({ data })).toEqual(states)
  expect(todosOf({ data: { kind: 'x' } })).toEqual([])
})

const HUNK = { oldStart: 3, oldLines: 1, newStart: 3, newLines: 2, lines: [' a', '+b'] }

describe('E27: file changes in a result', () => {
  test('a patch of Claude Code, with the numbers of its lines', () => {
    const events = translate('claude-code', [
      claudeCall('Edit', { file_path: '/p/a', old_string: 'a', new_string: 'a\nb' }),
      claudeResult({ filePath: '/p/a', structuredPatch: [HUNK, { lines: 'x' }] }),
    ])
    expect(events).toMatchObject([
      { facts: { kind: 'edit', edits: [{ path: '/p/a', swaps: [{ before: 'a', after: 'a\nb' }] }] } },
      { type: 'tool:result', edits: [{ path: '/p/a', change: 'update', hunks: [HUNK] }] },
    ])
  })

  test('a new file is reported once, unless the written text differs from the call', () => {
    const call = claudeCall('Write', { file_path: '/p/a', content: 'mine' })
    const made = (content: string) =>
      claudeResult({ type: 'create', filePath: '/p/a', content, structuredPatch: [] })
    expect(translate('agent-sdk', [call, made('mine')])[1]).not.toHaveProperty('edits')
    expect(translate('agent-sdk', [call, made('yours')])[1]).toMatchObject({
      edits: [{ path: '/p/a', change: 'add', text: 'yours' }],
    })
  })

  test('the diffs of Codex come with the call, and again only when they grew', () => {
    const patch = (diff: string) => [{ path: 'a', kind: { type: 'update' }, diff }]
    const change = (diff: string) => ({ type: 'fileChange', id: 'c', changes: patch(diff) })
    const app = (method: string, item: object) => ({ method, params: { threadId: 't', turnId: 'u', item } })
    const small = '@@ -1 +1 @@\n-a\n+b\n'
    const same = translate('codex', [
      app('item/started', change(small)),
      app('item/completed', { ...change(small), status: 'completed' }),
    ])
    const hunks = [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ['-a', '+b'] }]
    expect(same).toMatchObject([{ facts: { edits: [{ path: 'a', change: 'update', hunks }] } }, {}])
    expect(same[1]).not.toHaveProperty('edits')
    const grown = translate('codex', [
      app('item/started', change('')),
      app('item/completed', { ...change(small), status: 'completed' }),
    ])
    expect(grown[1]).toMatchObject({ type: 'tool:result', edits: [{ path: 'a', hunks }] })
  })

  test('codex exec names the files alone', () => {
    const item = {
      type: 'file_change',
      id: 'c',
      changes: [{ path: 'a', kind: 'delete' }],
      status: 'completed',
    }
    const [call] = translate('codex', [
      { type: 'thread.started', thread_id: 't' },
      { type: 'item.completed', item },
    ]).filter(({ type }) => type === 'tool:start')
    expect(call).toMatchObject({ facts: { kind: 'edit', edits: [{ path: 'a', change: 'delete' }] } })
  })
})

test('E28: an event of an older log has the facts that its input and its detail tell', () => {
  const old = { name: 'Edit', input: { file_path: 'a', old_string: 'x', new_string: 'y' } }
  expect(factsOf(old)).toMatchObject({ kind: 'edit', object: 'a' })
  expect(editsOf(old)).toEqual([{ path: 'a', change: 'update', swaps: [{ before: 'x', after: 'y' }] }])
  expect(editsOf({ ...old, detail: { filePath: 'a', structuredPatch: [HUNK] } })).toEqual([
    { path: 'a', change: 'update', hunks: [HUNK] },
  ])
  expect(editsOf({ name: 'Bash', input: { command: 'ls' }, detail: { stdout: '' } })).toEqual([])
  const facts = { kind: 'edit', label: 'Edit', object: 'b' } as const
  expect(factsOf({ ...old, facts })).toBe(facts)
})

test('a file that Codex moves is asked about at both ends', () => {
  const changes = [{ path: 'a', kind: 'update', movePath: '/etc/b' }]
  expect(toolSubject('file_change', { changes })).toEqual({
    kind: 'paths',
    changes: true,
    paths: ['a', '/etc/b'],
  })
})

function translate(harness: string, lines: unknown[]): UIEvent[] {
  const translator = createTranslator(harness, { sessionId: 's' })
  return lines.flatMap(
    value => translator?.translateRecord({ kind: 'json', value, bytes: 0, offset: 0 }) ?? [],
  )
}

function claudeCall(name: string, input: object) {
  const content = [{ type: 'tool_use', id: 't1', name, input }]
  return { type: 'assistant', message: { id: 'm', content } }
}

function claudeResult(tool_use_result: object) {
  const content = [{ type: 'tool_result', tool_use_id: 't1', content: 'Done' }]
  return { type: 'user', message: { content }, tool_use_result }
}

test.each([
  [
    '<persisted-output>\nOutput too large (390.6KB). Full output saved to: /tmp/x.txt\n\nPreview (first 2KB):\na\n</persisted-output>',
    'Output too large (390.6KB). Full output saved to: /tmp/x.txt',
  ],
  ['a\n\n... [120 lines truncated] ...\nb', '... [120 lines truncated] ...'],
  ['Total output lines: 900\n\na…4321 tokens truncated…b', '…4321 tokens truncated…'],
  ['a\n[... omitted 700 of 956 lines ...]\nb', '[... omitted 700 of 956 lines ...]'],
  ['a\n[52341 bytes left out]\nb', '[52341 bytes left out]'],
  ['echo "[3 bytes left out]" is a command\n', undefined],
  ['ok', undefined],
  ['', undefined],
])('%j tells whether an output was cut', (content, words) => expect(outputCut(content)).toBe(words))
