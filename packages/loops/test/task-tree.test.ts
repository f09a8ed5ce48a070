import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { TaskTree } from '../src/task-tree.ts'

test('a merge is taken back without losing what a person changed and did not commit', async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-tree-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' })
  const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text)
  const read = (name: string) => readFileSync(path.join(folder, name), 'utf8')
  git('init', '-q')
  for (const [name, value] of [
    ['user.name', 'A'],
    ['user.email', 'a@example'],
    ['commit.gpgSign', 'false'],
  ])
    git('config', name ?? '', value ?? '')
  const commit = (name: string) => {
    write(name, 'first\n')
    git('add', '.')
    git('commit', '-qm', name)
    return git('rev-parse', 'HEAD').trim()
  }
  const first = commit('a.txt')
  commit('b.txt')
  const tree = await TaskTree.open(folder)
  write('a.txt', 'edited\n')
  write('new.txt', 'staged\n')
  git('add', 'new.txt')
  write('loose.txt', 'untracked\n')
  const ref = await tree.resetTo(first, 'refs/chirality/loop-kept/loop-x')
  expect(await tree.head()).toBe(first)
  expect(await tree.isChanged()).toBe(false)
  expect([read('a.txt'), read('loose.txt')]).toEqual(['first\n', 'untracked\n'])
  // As docs/loops.md says.
  git('cherry-pick', '--no-commit', ref ?? '')
  expect([read('a.txt'), read('new.txt')]).toEqual(['edited\n', 'staged\n'])
  git('reset', '-q', '--hard', first)
  expect(await tree.resetTo(first, 'refs/chirality/loop-kept/loop-x')).toBeUndefined()
})
