import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
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
  // Example of docs/loops.md.
  git('cherry-pick', '--no-commit', ref ?? '')
  expect([read('a.txt'), read('new.txt')]).toEqual(['edited\n', 'staged\n'])
  git('reset', '-q', '--hard', first)
  expect(await tree.resetTo(first, 'refs/chirality/loop-kept/loop-x')).toBeUndefined()
})

test('no git of a loop runs a program of a nested repository, or of a signature', async () => {
  const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-tree-')))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const [folder, within, program] = ['shop', 'shop/within', 'evil.sh'].map(name => path.join(home, name)) as [
    ...[string, string, string],
  ]
  const canary = path.join(home, 'ran')
  writeFileSync(program, `#!/bin/sh\necho "$0 $@" >> ${canary}; cat\n`)
  chmodSync(program, 0o755)
  const run = (...args: string[]) => execFileSync('git', args, { cwd: home, encoding: 'utf8' })
  const put = (name: string, text: string) => writeFileSync(path.join(folder, name), text)
  for (const place of [folder, within]) {
    mkdirSync(place, { recursive: true })
    run('init', '-q', '-b', 'main', place)
    for (const [key, value] of Object.entries({ name: 'A', email: 'a@example' }))
      run('-C', place, 'config', `user.${key}`, value)
  }
  put('within/c.txt', 'c\n')
  run('-C', within, 'add', '.')
  run('-C', within, 'commit', '-qm', 'within')
  put('a.txt', 'one\n')
  const tree = await TaskTree.open(folder)
  run('-C', folder, 'add', 'a.txt')
  run('-C', folder, 'commit', '-qm', 'first')
  const base = await tree.head()
  await tree.stage(base, [])
  await tree.commit('With a repository within')
  run('-C', within, 'config', 'filter.e.clean', program)
  put('within/.gitattributes', '* filter=e\n')
  put('.gitmodules', '[submodule "within"]\n\tpath = within\n\turl = ./within\n\tignore = none\n')
  // A commit that says that it is signed, and a config that wants to know by whom.
  run('-C', folder, 'config', 'merge.verifySignatures', 'true')
  run('-C', folder, 'config', 'gpg.program', program)
  const signed = run('-C', folder, 'cat-file', 'commit', 'HEAD').replace(
    '\n\n',
    '\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n\n',
  )
  const input = { input: signed, cwd: folder, encoding: 'utf8' } as const
  const commit = execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin'], input).trim()
  const steps: (() => Promise<unknown>)[] = [
    () => tree.isChanged(),
    () => tree.stage(base, []),
    () => tree.commit('Again'),
    () => tree.merge(commit, 'Merge'),
    async () => tree.revert(await tree.head()),
    () => tree.resetTo(base, 'refs/chirality/loop-kept/loop-x'),
  ]
  for (const [at, step] of steps.entries()) {
    // Equally long, so that git has to read it.
    put('within/c.txt', `${at}\n`)
    await step().catch(() => undefined)
    expect(existsSync(canary) ? `step ${at}: ${readFileSync(canary, 'utf8')}` : '').toBe('')
  }
})
