import { factsOf, type ToolItem } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { diffRows } from './diff-rows.ts'
import { diffTexts, parseUnifiedDiff } from './file-diff.ts'
import { editedPaths, placedEdit, toolEdits } from './tool-edits.ts'

const tool = (fields: Partial<ToolItem>): ToolItem => ({
  kind: 'tool',
  seq: 1,
  id: 'u',
  at: '2026-01-01T00:00:00.000Z',
  turnId: 't',
  name: 'Edit',
  input: {},
  status: 'done',
  content: '',
  endedAt: null,
  durationMs: null,
  ...fields,
})

describe('parseUnifiedDiff', () => {
  test('says which line has no newline: a change of that alone would look like none', () => {
    const note = '\\ No newline at end of file\n'
    const [file] = parseUnifiedDiff(`--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n${note}+b\n`)
    const [both] = parseUnifiedDiff(`--- a/x\n+++ b/x\n@@ -1 +1 @@\n-b\n${note}+c\n${note}`)
    const ends = (diff: typeof file) =>
      diffRows(diff as never).map(({ mark, unended = false }) => [mark, unended])
    expect(ends(file)).toEqual([
      [' ', false],
      ['-', true],
      ['+', false],
    ])
    expect(ends(both)).toEqual([
      ['-', true],
      ['+', true],
    ])
    // The pieces that an edit names are no whole files.
    expect(diffTexts('x', 'a', 'b').hunks.flatMap(({ unended = [] }) => unended)).toEqual([])
  })

  test('reads what git prints', () => {
    const files = parseUnifiedDiff(
      'diff --git a/x.ts b/x.ts\nindex 1..2 100644\n--- a/x.ts\n+++ b/x.ts\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n' +
        'diff --git a/new.ts b/new.ts\nnew file mode 100644\n--- /dev/null\n+++ b/new.ts\n@@ -0,0 +1 @@\n+n\n\\ No newline at end of file\n',
    )
    expect(files.map(({ path, kind, added, removed }) => [path, kind, added, removed])).toEqual([
      ['x.ts', 'update', 1, 1],
      ['new.ts', 'add', 1, 0],
    ])
    expect(files[1]?.hunks[0]?.lines).toEqual(['+n'])
  })

  test.each(['', 'not a diff', '@@ -1 +1 @@\nbroken', '--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a'])(
    '%j is no reason to fail',
    text => expect(parseUnifiedDiff(text)).toBeInstanceOf(Array),
  )
})

test('two texts without a line in common are shown one after the other', () => {
  const diff = diffTexts('x', 'a\n', 'b\n')
  expect(diff).toMatchObject({ added: 1, removed: 1 })
})

describe('toolEdits', () => {
  test('Claude: the patch of the result wins over the input', () => {
    const [edit] = toolEdits(
      tool({
        input: { file_path: '/p/n.txt', old_string: 'beta', new_string: 'gamma' },
        detail: {
          filePath: '/p/n.txt',
          structuredPatch: [
            { oldStart: 7, oldLines: 1, newStart: 7, newLines: 1, lines: [' a', '-beta', '+gamma'] },
          ],
        },
      }),
    )
    expect(edit).toMatchObject({ path: '/p/n.txt', added: 1, removed: 1, hunks: [{ oldStart: 7 }] })
  })

  test('Claude: a file that was made', () => {
    const detail = { type: 'create', filePath: '/p/l.txt', content: 'a\nb\n', structuredPatch: [] }
    expect(toolEdits(tool({ name: 'Write', detail }))).toMatchObject([{ kind: 'add', added: 2 }])
  })

  test('Codex: several files in one call', () => {
    const changes = [
      { path: 'new.txt', kind: 'add', diff: 'brand new\n' },
      { path: 'notes.txt', kind: 'update', diff: '@@ -1,2 +1,2 @@\n first\n-second\n+last\n' },
      { path: 'old.txt', kind: 'delete', diff: 'old\n' },
    ]
    expect(toolEdits(tool({ name: 'file_change', detail: { changes } }))).toMatchObject([
      { kind: 'add', added: 1 },
      { kind: 'update', added: 1, removed: 1 },
      { kind: 'delete', removed: 1 },
    ])
  })

  test('a call that reads changes nothing', () => {
    expect(toolEdits(tool({ name: 'Read', input: { file_path: '/p/n.txt' }, content: 'x' }))).toEqual([])
  })

  test.each([
    { changes: [1, null, {}] },
    { file_path: 7, old_string: 'a', new_string: 'b' },
    { file_path: 'x', edits: ['?'] },
    { file_path: 'x', old_string: 'a' },
  ])('input of the wrong shape is no reason to fail: %j', input => {
    expect(() => toolEdits(tool({ input }))).not.toThrow()
  })
})

describe('placedEdit', () => {
  const placed = (name: string, input: Record<string, unknown>, text: string) => {
    const [edit] = factsOf({ name, input }).edits ?? []
    return edit && placedEdit(edit, text)
  }
  const file = Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`).join('')

  test('an edit has the numbers of the file and the lines around it', () => {
    const input = { file_path: 'a.txt', old_string: 'line 12', new_string: 'LINE $& 12' }
    expect(toolEdits(tool({ input }))).toMatchObject([{ unplaced: true }])
    const edit = placed('Edit', input, file)
    expect(edit).toMatchObject({
      kind: 'update',
      added: 1,
      removed: 1,
      hunks: [{ oldStart: 9, newStart: 9 }],
    })
    expect(edit?.unplaced).toBeUndefined()
    expect(edit?.hunks[0]?.lines).toEqual([
      ...[' line 9', ' line 10', ' line 11', '-line 12', '+LINE $& 12', ' line 13', ' line 14', ' line 15'],
    ])
  })

  test('a file that is written over shows what it loses', () => {
    const edit = placed('Write', { file_path: 'a.txt', content: 'one\n' }, 'one\ntwo\n')
    expect(edit).toMatchObject({ kind: 'update', added: 0, removed: 1 })
  })

  test('several edits and all occurrences are applied in their order', () => {
    const edits = [
      { old_string: 'a', new_string: 'b', replace_all: true },
      { old_string: 'b b', new_string: 'c' },
    ]
    expect(placed('MultiEdit', { file_path: 'x', edits }, 'a a\na\n')?.hunks[0]?.lines).toEqual([
      ...['-a a', '-a', '+c', '+b'],
    ])
  })

  test.each([
    [{ file_path: 'x', old_string: 'gone', new_string: 'b' }],
    [{ file_path: 'x', old_string: '', new_string: 'b' }],
    [{ command: 'ls' }],
  ])('%j does not fit the file', input => expect(placed('Edit', input, file)).toBeUndefined())
})

test('the edits that the events carry count, whatever the shapes of the agent', () => {
  const facts = {
    kind: 'edit',
    label: 'Patch',
    object: 'a',
    edits: [{ path: 'a', change: 'update' }],
  } as const
  const call = tool({ name: 'patch_it', facts: { ...facts, edits: [...facts.edits] }, input: { x: 1 } })
  expect(editedPaths(call)).toEqual(['a'])
  expect(toolEdits(call)).toEqual([])
  const hunks = [{ oldStart: 4, oldLines: 1, newStart: 4, newLines: 1, lines: ['-a', '+b'] }]
  const done = tool({ ...call, edits: [{ path: 'a', change: 'update', movedTo: 'b', hunks }] })
  expect(toolEdits(done)).toMatchObject([{ path: 'b', added: 1, removed: 1, hunks: [{ oldStart: 4 }] }])
  expect(editedPaths(done)).toEqual(['a', 'b'])
})

test('the files that a call edits are known without comparing them', () => {
  const of = (fields: Partial<ToolItem>) => editedPaths(tool(fields))
  expect(of({ input: { file_path: '/p/a', old_string: 'a', new_string: 'b' } })).toEqual(['/p/a'])
  expect(of({ name: 'Write', input: { file_path: '/p/b', content: '' } })).toEqual(['/p/b'])
  expect(of({ input: {}, detail: { changes: [{ path: 'c' }, { path: 'd' }, 7] } })).toEqual(['c', 'd'])
  expect(of({ name: 'Read', input: { file_path: '/p/a' } })).toEqual([])
})

test('of a line that was changed only the words that differ are marked; a line written anew has no mark', () => {
  const diff = diffTexts(
    'x.ts',
    'if (chunk[i] === LF) {\n  yield decode(start, i)\nconst gone = 1\n',
    'if (isQuote) quoted = !quoted\nif (chunk[i] === LF && !quoted) {\n  yield decode(start, ending)\nawait all()\n',
  )
  const words = diffRows(diff).map(({ mark, text, changed }) => [
    mark,
    changed ? text.slice(...changed) : null,
  ])
  expect(words).toEqual([
    ['-', ''],
    ['-', 'i'],
    ['-', null],
    ['+', null],
    ['+', ' && !quoted'],
    ['+', 'ending'],
    ['+', null],
  ])
})
