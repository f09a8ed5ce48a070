import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { commitFiles, commitHooks, findRepository } from '../src/index.ts'

let repository: Repository

beforeEach(() => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-commit-test-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  repository = initRepository(path.join(folder, 'shop'))
  repository.run('config', 'user.name', 'A User')
  repository.run('config', 'user.email', 'user@example')
  for (const name of ['a.txt', 'b.txt', 'dir/one.txt', 'dir/two.txt', ...ODD])
    repository.write(name, `${name}\n`.repeat(20))
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
})

const ODD = [
  'with space.txt',
  'quote"d.txt',
  "single'.txt",
  'line\nbreak.txt',
  '-dash.txt',
  ':(top)magic.txt',
  'st*r.txt',
  '#hash.txt',
  'ümlaut.txt',
]

const here = (name: string) => path.join(repository.root, name)
const git = (...args: string[]) => repository.run(...args)
/** Difference between the two last commits. */
const committed = () =>
  git('diff', '--name-status', '--no-renames', '-z', 'HEAD~1', 'HEAD').split('\0').slice(0, -1)
const left = () => git('status', '--porcelain', '-z').split('\0').filter(Boolean)

async function commit(files?: string[]) {
  const found = await findRepository(repository.root)
  if (found === undefined) throw new Error('no repository')
  return commitFiles(found, repository.root, { message: 'work', files })
}

const CASES: [string, () => void, string[], string[]][] = [
  ['a staged rename', () => git('mv', 'a.txt', 'c.txt'), ['c.txt'], ['D', 'a.txt', 'A', 'c.txt']],
  [
    'a rename that is not staged',
    () => renameSync(here('a.txt'), here('c.txt')),
    ['a.txt', 'c.txt'],
    ['D', 'a.txt', 'A', 'c.txt'],
  ],
  [
    'a staged rename that is edited since',
    () => {
      git('mv', 'a.txt', 'c.txt')
      repository.write('c.txt', `${'a.txt\n'.repeat(20)}more\n`)
    },
    ['c.txt'],
    ['D', 'a.txt', 'A', 'c.txt'],
  ],
  [
    'a staged rename with another file in the old place',
    () => {
      git('mv', 'a.txt', 'c.txt')
      repository.write('a.txt', 'new\n')
    },
    ['a.txt', 'c.txt'],
    ['M', 'a.txt', 'A', 'c.txt'],
  ],
  ['a rename of case only', () => git('mv', 'a.txt', 'A.txt'), ['A.txt'], ['A', 'A.txt', 'D', 'a.txt']],
  [
    'a renamed folder',
    () => git('mv', 'dir', 'folder'),
    ['folder/one.txt', 'folder/two.txt'],
    ['D', 'dir/one.txt', 'D', 'dir/two.txt', 'A', 'folder/one.txt', 'A', 'folder/two.txt'],
  ],
  [
    'a rename whose new name is to be added',
    () => {
      renameSync(here('a.txt'), here('c.txt'))
      git('add', '--intent-to-add', 'c.txt')
    },
    ['c.txt'],
    ['D', 'a.txt', 'A', 'c.txt'],
  ],
  [
    'a staged rename that is gone since',
    () => {
      git('mv', 'a.txt', 'c.txt')
      rmSync(here('c.txt'))
    },
    ['c.txt'],
    ['D', 'a.txt'],
  ],
  ['a staged deletion', () => git('rm', '-q', 'a.txt'), ['a.txt'], ['D', 'a.txt']],
  ['a deletion', () => rmSync(here('a.txt')), ['a.txt'], ['D', 'a.txt']],
  [
    'a change on top of a staged one',
    () => {
      repository.write('a.txt', 'staged\n')
      git('add', 'a.txt')
      repository.write('a.txt', 'later\n')
    },
    ['a.txt'],
    ['M', 'a.txt'],
  ],
  [
    'a new file that is to be added',
    () => {
      repository.write('c.txt', 'c\n')
      git('add', '--intent-to-add', 'c.txt')
    },
    ['c.txt'],
    ['A', 'c.txt'],
  ],
  [
    'a file that a folder replaced',
    () => {
      rmSync(here('a.txt'))
      repository.write('a.txt/inner.txt', 'inner\n')
    },
    ['a.txt', 'a.txt/inner.txt'],
    ['D', 'a.txt', 'A', 'a.txt/inner.txt'],
  ],
  [
    'a staged folder in the place of a file',
    () => {
      rmSync(here('a.txt'))
      repository.write('a.txt/inner.txt', 'inner\n')
      git('add', '--all')
    },
    ['a.txt', 'a.txt/inner.txt'],
    ['D', 'a.txt', 'A', 'a.txt/inner.txt'],
  ],
  [
    'a folder that a file replaced',
    () => {
      rmSync(here('dir'), { recursive: true })
      repository.write('dir', 'file\n')
    },
    ['dir', 'dir/one.txt', 'dir/two.txt'],
    ['A', 'dir', 'D', 'dir/one.txt', 'D', 'dir/two.txt'],
  ],
  [
    'a folder that a link replaced',
    () => {
      mkdirSync(here('ignored'))
      repository.write('.git/info/exclude', 'ignored\n')
      repository.write('ignored/one.txt', 'behind the link\n')
      rmSync(here('dir'), { recursive: true })
      symlinkSync('ignored', here('dir'))
    },
    ['dir', 'dir/one.txt', 'dir/two.txt'],
    ['A', 'dir', 'D', 'dir/one.txt', 'D', 'dir/two.txt'],
  ],
]

for (const [name, change, files, expected] of CASES) {
  test(`all is committed: ${name}`, async () => {
    change()
    expect((await commit()).files).toEqual(files)
    expect(committed()).toEqual(expected)
    expect(left()).toEqual([])
  })
  test(`chosen files are committed, and others stay as they are: ${name}`, async () => {
    change()
    repository.write('b.txt', 'not now\n')
    git('add', 'b.txt')
    repository.write('new.txt', 'not now either\n')
    expect((await commit(files)).files).toEqual(files)
    expect(committed()).toEqual(expected)
    expect(left()).toEqual(['M  b.txt', '?? new.txt'])
  })
}

test('names are taken as they are', async () => {
  for (const name of ODD) git('mv', '--', `./${name}`, `moved/${name}`.replace('moved/', 'moved '))
  const { files } = await commit()
  expect(files).toEqual(ODD.map(name => `moved ${name}`).sort())
  expect(left()).toEqual([])
  for (const name of ODD) rmSync(here(`moved ${name}`))
  repository.write('star.txt', 'st*r must not mean this\n')
  await commit(ODD.map(name => `moved ${name}`))
  expect(left()).toEqual(['?? star.txt'])
  expect(lstatSync(here('star.txt')).isFile()).toBe(true)
})

test('in a repository without a commit', async () => {
  const root = path.join(repository.root, '..', 'empty')
  repository = initRepository(root)
  repository.run('config', 'user.name', 'A User')
  repository.run('config', 'user.email', 'user@example')
  repository.write('a.txt', 'a\n')
  repository.write('b.txt', 'b\n')
  git('add', '.')
  await commit(['a.txt'])
  expect(git('ls-tree', '--name-only', 'HEAD').trim()).toBe('a.txt')
  expect(left()).toEqual(['A  b.txt'])
})

test('the hooks of a commit are those that git would run: of the user for all repositories, unless the repository has its own', async () => {
  const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-commit-home-')))
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(home, { recursive: true, force: true })
  })
  const hook = (folder: string, name: string, code: number) => {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path.join(folder, name), `#!/bin/sh\necho ran >> '${home}/${name}'\nexit ${code}\n`)
    chmodSync(path.join(folder, name), 0o755)
  }
  hook(path.join(home, 'hooks'), 'pre-commit', 1)
  writeFileSync(path.join(home, '.gitconfig'), '[include]\n\tpath = more\n')
  writeFileSync(path.join(home, 'more'), '[core]\n\thooksPath = ~/hooks\n')
  vi.stubEnv('HOME', home)
  vi.stubEnv('XDG_CONFIG_HOME', home)
  vi.stubEnv('GIT_CONFIG_GLOBAL', undefined)
  const found = await findRepository(repository.root)
  if (found === undefined) throw new Error('no repository')
  const make = (message: string, hooks: boolean) =>
    commitFiles(found, repository.root, { message, files: ['a.txt'], hooks })
  repository.write('a.txt', 'changed\n')
  expect(await commitHooks(found)).toEqual(['pre-commit'])
  await expect(make('work', true)).rejects.toThrow('git or a hook refused the commit')
  expect(existsSync(path.join(home, 'pre-commit'))).toBe(true)
  // Hooks of the repository, in its own place.
  hook(path.join(repository.root, '.husky'), 'post-commit', 0)
  git('config', 'core.hooksPath', '.husky')
  expect(await commitHooks(found)).toEqual(['post-commit'])
  await make('work', true)
  expect(existsSync(path.join(home, 'post-commit'))).toBe(true)
  git('config', '--unset', 'core.hooksPath')
  repository.write('a.txt', 'changed again\n')
  await make('without', false)
})
