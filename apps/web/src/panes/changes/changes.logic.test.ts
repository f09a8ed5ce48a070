import { expect, test } from 'vitest'
import { changedFiles, splitChanges } from './changes.logic.ts'

const PATCH = [
  'diff --git a/logo.bin b/logo.bin',
  'new file mode 100644',
  'index 0000000..1111111',
  'Binary files /dev/null and b/logo.bin differ',
  'diff --git a/old.ts b/new.ts',
  'similarity index 100%',
  'rename from old.ts',
  'rename to new.ts',
  'diff --git a/was.ts b/is.ts',
  'similarity index 90%',
  'rename from was.ts',
  'rename to is.ts',
  '--- a/was.ts',
  '+++ b/is.ts',
  '@@ -1 +1 @@',
  '-a',
  '+b',
  '',
].join('\n')

test('a file without lines says in words why it has none', () => {
  const files = changedFiles({
    patch: PATCH,
    truncated: false,
    files: [
      { path: 'logo.bin', kind: 'added', added: null, removed: null },
      { path: 'new.ts', kind: 'renamed', renamedFrom: 'old.ts', added: 0, removed: 0 },
      { path: 'is.ts', kind: 'renamed', renamedFrom: 'was.ts', added: 1, removed: 1 },
      { path: 'run.sh', kind: 'changed', added: 0, removed: 0 },
      { path: 'empty', kind: 'added', added: 0, removed: 0 },
    ],
  })
  expect(files.map(({ path, note, diff }) => [path, note, diff.kind, diff.hunks.length])).toEqual([
    ['logo.bin', 'Binary file, no lines to show.', 'add', 0],
    ['new.ts', 'Renamed from old.ts; its lines are the same.', 'update', 0],
    ['is.ts', 'Renamed from was.ts.', 'update', 1],
    ['run.sh', 'Only its mode changed, no line did.', 'update', 0],
    ['empty', 'Empty file.', 'add', 0],
  ])
})

test('a patch that was too large is said for each file, with its counts', () => {
  const files = [{ path: 'a', kind: 'changed' as const, added: 3, removed: 1 }]
  expect(changedFiles({ patch: '', truncated: true, files })).toMatchObject([
    { path: 'a', note: 'All changes together are too large to show: 3 added, 1 removed.' },
  ])
})

test('what this session edited stands apart from what else changed in the folder', () => {
  const change = (path: string) => ({ path, kind: 'changed' as const, added: 0, removed: 0 })
  const files = changedFiles({ patch: '', truncated: false, files: ['a', 'b/c', 'd'].map(change) })
  const { own, others } = splitChanges(files, new Set(['/p/b/c', 'd', '/q/a']), '/p')
  expect([own, others].map(list => list.map(({ path }) => path))).toEqual([['b/c', 'd'], ['a']])
})
