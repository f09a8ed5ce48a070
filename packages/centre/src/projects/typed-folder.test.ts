import { mkdir, mkdtemp, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { completeFolder, findRepositories, typedFolder } from './typed-folder.ts'

test.each([
  ['/srv/a', '/srv/a'],
  ['~', '/home/you'],
  ['~/a/b', '/home/you/a/b'],
  [' code ', '/home/you/code'],
  ['~other', '/home/you/~other'],
])('%j is %s', (typed, folder) => expect(typedFolder(typed, '/home/you')).toBe(folder))

test('a typed path is completed to folders, in the same form', async () => {
  const home = await realpath(await mkdtemp(path.join(tmpdir(), 'typed-folder-')))
  onTestFinished(() => rm(home, { recursive: true }))
  for (const name of ['code/app10', 'code/app2', 'code/other', '.hidden']) {
    await mkdir(path.join(home, name), { recursive: true })
  }
  await writeFile(path.join(home, 'code.txt'), '')
  await symlink('code', path.join(home, 'coded'))
  const complete = (typed: string) => completeFolder(typed, home)
  expect(await complete('~/co')).toEqual(['~/code/', '~/coded/'])
  expect(await complete('CO')).toEqual(['code/', 'coded/'])
  expect(await complete('~/code/a')).toEqual(['~/code/app2/', '~/code/app10/'])
  expect(await complete(`${home}/`)).toEqual([`${home}/code/`, `${home}/coded/`])
  expect(await complete('~/.h')).toEqual(['~/.hidden/'])
  expect(await complete('~')).toEqual(['~/code/', '~/coded/'])
  expect(await complete('/no/such/folder/x')).toEqual([])
})

test('git repositories under the home folder are found, the one used last first, without known ones and what is inside of one', async () => {
  const home = await realpath(await mkdtemp(path.join(tmpdir(), 'repositories-')))
  onTestFinished(() => rm(home, { recursive: true }))
  const repositories = [
    'old',
    'code/new',
    'code/new/inner',
    'a/b/deep',
    'a/b/c/too-deep',
    '.hidden/x',
    'mine',
  ]
  for (const [index, name] of [...repositories, 'node_modules/lib'].entries()) {
    const git = path.join(home, name, '.git')
    await mkdir(git, { recursive: true })
    await writeFile(path.join(git, 'HEAD'), 'ref: refs/heads/main')
    const at = new Date(2026, 0, 1 + index)
    await utimes(path.join(git, 'HEAD'), at, at)
  }
  await mkdir(path.join(home, 'plain'))
  const known = new Set([path.join(home, 'mine')])
  expect(await findRepositories(known, home)).toEqual(['~/a/b/deep', '~/code/new', '~/old'])
  expect(await findRepositories(known, home, { depth: 1, folders: 1500 })).toEqual(['~/old'])
  expect(await findRepositories(known, path.join(home, 'gone'))).toEqual([])
})
