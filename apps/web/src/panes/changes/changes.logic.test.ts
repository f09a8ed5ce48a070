import { expect, test } from 'vitest'
import { changedFiles, placeNow, splitChanges, stepChange, stepFile } from './changes.logic.ts'

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

test('steps go through the changes in the order in which they are shown, and stay at the ends', () => {
  const hunk = (at: number) => `@@ -${at} +${at} @@\n-a\n+b\n`
  const patch = `--- a/a\n+++ b/a\n${hunk(1)}${hunk(9)}--- a/c\n+++ b/c\n${hunk(1)}`
  const listed = (path: string, added: number | null) => ({
    ...{ path, kind: 'changed' as const, added, removed: added },
  })
  const files = changedFiles({
    ...{ patch, truncated: false },
    files: [listed('a', 2), listed('b.png', null), listed('c', 1)],
  })
  const walk = (by: 1 | -1) => {
    let at = stepChange(files, null, by)
    const seen = [at]
    for (let i = 0; i < 4; i++) {
      at = stepChange(files, at, by)
      seen.push(at)
    }
    return seen.map(place => `${place?.path} ${place?.hunk}`)
  }
  expect(walk(1)).toEqual(['a 0', 'a 1', 'b.png -1', 'c 0', 'c 0'])
  expect(walk(-1)).toEqual(['c 0', 'b.png -1', 'a 1', 'a 0', 'a 0'])
  // From the head of a file, its first change is the next.
  expect(stepChange(files, { path: 'c', hunk: -1 }, 1)).toEqual({ path: 'c', hunk: 0 })
  expect(stepFile(files, { path: 'a', hunk: 1 }, 1)).toEqual({ path: 'b.png', hunk: -1 })
  expect(stepFile(files, null, 1)).toEqual({ path: 'a', hunk: -1 })
  // After the last of two was taken back, the other is the place; a file that is gone has none.
  expect(placeNow(files, { path: 'c', hunk: 3 })).toEqual({ path: 'c', hunk: 0 })
  expect(placeNow(files, { path: 'gone', hunk: 0 })).toBeNull()
})
