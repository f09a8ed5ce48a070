import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gitStatus, parseStatus, TurnChanges } from '@chirality/workspaces'
import { expect, onTestFinished, test } from 'vitest'
import { createCommitted, createRepository } from './support/repository.ts'

test('status reports every kind of change', async () => {
  const repository = createCommitted()
  repository.write('kept.txt', 'one\n2\n')
  rmSync(path.join(repository.root, 'gone.txt'))
  repository.run('mv', 'old name.txt', 'new name.txt')
  repository.write('new.txt', 'new\n')
  repository.write('ignored', 'x')
  const status = await gitStatus(repository.root)
  expect(status).toMatchObject({
    branch: 'main',
    ahead: 0,
    behind: 0,
    commit: expect.stringMatching(/^[0-9a-f]{40}$/),
  })
  expect(status?.files.sort((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
    { path: 'gone.txt', index: '.', worktree: 'D' },
    { path: 'kept.txt', index: '.', worktree: 'M' },
    { path: 'new name.txt', index: 'R', worktree: '.', renamedFrom: 'old name.txt' },
    { path: 'new.txt', index: '?', worktree: '?' },
  ])
})

test('a project below the top of a repository sees its own part', async () => {
  const repository = createCommitted()
  repository.write('part/of/it.txt', 'x\n')
  repository.write('elsewhere.txt', 'x\n')
  const part = path.join(repository.root, 'part')
  expect((await gitStatus(part))?.files.map(file => file.path)).toEqual(['of/it.txt'])
  const changes = await new TurnChanges().workingTree(part)
  expect(changes?.files.map(file => file.path)).toEqual(['of/it.txt'])
})

test('before the first commit, and without git', async () => {
  const repository = createRepository()
  repository.write('first.txt', 'x\n')
  expect(await gitStatus(repository.root)).toMatchObject({
    branch: 'main',
    commit: null,
    files: [{ path: 'first.txt' }],
  })
  const changes = await new TurnChanges().workingTree(repository.root)
  expect(changes?.files).toEqual([{ path: 'first.txt', kind: 'added', added: 1, removed: 0 }])
  rmSync(path.join(repository.root, '.git'), { recursive: true })
  expect(await gitStatus(repository.root)).toBeNull()
  expect(await new TurnChanges().workingTree(repository.root)).toBeNull()
})

test('unmerged files and odd names are read', () => {
  const lines = [
    '# branch.oid (initial)',
    '# branch.head (detached)',
    '# branch.ab +2 -1',
    'u UU N... 100644 100644 100644 100644 a b c both changed.txt',
    '? with\nnewline',
  ]
  expect(parseStatus(`${lines.join('\0')}\0`)).toEqual({
    ...{ branch: null, commit: null, ahead: 2, behind: 1 },
    files: [
      { path: 'both changed.txt', index: 'U', worktree: 'U' },
      { path: 'with\nnewline', index: '?', worktree: '?' },
    ],
  })
})

test('the diff has everything since the commit, and leaves the repository as it is', async () => {
  const repository = createCommitted()
  repository.write('kept.txt', 'one\n2\nthree\n')
  rmSync(path.join(repository.root, 'gone.txt'))
  repository.write('new.txt', 'new\n')
  repository.write('bin.dat', 'a\0b')
  const git = path.join(repository.root, '.git')
  const before = [readFileSync(path.join(git, 'index')), repository.run('for-each-ref'), objects(git)]
  const changes = await new TurnChanges().workingTree(repository.root)
  expect(changes?.files).toEqual([
    { path: 'bin.dat', kind: 'added', added: null, removed: null },
    { path: 'gone.txt', kind: 'deleted', added: 0, removed: 1 },
    { path: 'kept.txt', kind: 'changed', added: 2, removed: 1 },
    { path: 'new.txt', kind: 'added', added: 1, removed: 0 },
  ])
  expect(changes?.patch).toContain(
    '--- a/kept.txt\n+++ b/kept.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n',
  )
  expect([readFileSync(path.join(git, 'index')), repository.run('for-each-ref'), objects(git)]).toEqual(
    before,
  )
})

function objects(git: string): string[] {
  return readdirSync(path.join(git, 'objects'), { recursive: true }).map(String).sort()
}

test('a folder above that only looks like a repository is none', async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-git-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(path.join(folder, '.git'))
  mkdirSync(path.join(folder, 'project'))
  expect(await gitStatus(path.join(folder, 'project'))).toBeNull()
})

test('a snapshot stores one line for a large untracked file, and still detects its change', async () => {
  const repository = createCommitted()
  repository.write('large.bin', 'x'.repeat(2000))
  repository.write('small.txt', 'new\n')
  const changes = new TurnChanges({ maxFileBytes: 1000 })
  const patch = async () => (await changes.workingTree(repository.root))?.patch ?? ''
  const first = await patch()
  expect(first).toContain('+Not kept: 2000 bytes, more than 1000. Last changed ')
  expect(first).toContain('+new')
  expect(first).not.toContain('xxx')
  repository.write('large.bin', 'y'.repeat(2001))
  expect(await patch()).toContain('+Not kept: 2001 bytes')
  // A file that git has is compared in full, whatever its size.
  repository.write('kept.txt', 'z'.repeat(3000))
  expect(await patch()).toContain('+zzz')
})

test('snapshots begin anew when they take more than their limit, while the server runs', async () => {
  const repository = createCommitted()
  const changes = new TurnChanges({ maxBytes: 512 * 1024 })
  const sizes: number[] = []
  for (let turn = 0; turn < 8; turn++) {
    repository.write('noise.bin', randomBytes(100 * 1024).toString('base64'))
    await Promise.all([changes.workingTree(repository.root), changes.workingTree(repository.root)])
    sizes.push(sizeOf(path.join(repository.root, '.chirality/state/snapshots')))
  }
  expect(Math.max(...sizes)).toBeLessThan(1024 * 1024)
  expect(sizes.some((size, turn) => size < (sizes[turn - 1] ?? 0))).toBe(true)
})

function sizeOf(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => sum + statSync(path.join(parentPath, name)).size, 0)
}
