import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { expect, onTestFinished, test } from 'vitest'
import { findRepository, takeSnapshot } from '../src/index.ts'

test('a few edits make the tree that git makes with an index, and git is not asked for one', async () => {
  const { repository, at, snapshot, plain, log } = create()
  // In the order of git, a folder is between `a-b` and `a0`.
  for (const name of ['a-b', 'a.txt', 'a/x', 'a/y', 'a0', 'deep/er/still/z', 'run', 'with space/ü'])
    repository.write(name, `${name}\n`)
  commit(repository)
  const steps: [string, () => void][] = [
    ['changed', () => repository.write('a/x', 'X\n')],
    ['deleted with its folders', () => rmSync(at('deep'), { recursive: true })],
    ['new in new folders', () => repository.write('new/in/here', 'n\n')],
    ['a name between others', () => repository.write('a.b/c', 'c\n')],
    ['not text', () => writeFileSync(at('a0'), Buffer.from([0, 1, 255, 10]))],
    ['empty', () => repository.write('empty', '')],
    ['a mode', () => chmodSync(at('run'), 0o755)],
    ['renamed', () => renameSync(at('with space/ü'), at('with space/ß'))],
    ['no UTF-8', () => writeFileSync(Buffer.concat([Buffer.from(at('n')), Buffer.from([0xe9])]), 'n\n')],
    ['a name that git may take for another', () => repository.write('HEAD:a missing', 'x\n')],
    [
      'a file becomes a folder',
      () => {
        rmSync(at('a.txt'))
        repository.write('a.txt/inside', 'x\n')
      },
    ],
    [
      'a folder becomes a file',
      () => {
        rmSync(at('a'), { recursive: true })
        repository.write('a', 'file\n')
      },
    ],
    ['all but one', () => ['a-b', 'a0', 'run'].map(name => rmSync(at(name)))],
  ]
  for (const [what, step] of steps) {
    step()
    expect([what, await snapshot()]).toEqual([what, plain()])
  }
  expect(log()).toContain('hash-object')
  expect(log()).not.toContain('write-tree')
  for (const name of ['a', 'a.b', 'a.txt', 'empty', 'new', 'with space', 'HEAD:a missing'])
    rmSync(at(name), { recursive: true })
  rmSync(Buffer.concat([Buffer.from(at('n')), Buffer.from([0xe9])]))
  expect(await snapshot()).toBe(plain())
  expect(repository.run('status', '--porcelain')).toContain(' D run')
})

test.each<[string, (of: ReturnType<typeof create>) => void]>([
  [
    'carriage returns that the commit has stay',
    ({ repository }) => {
      repository.write('crlf', 'a\r\nb\r\n')
      commit(repository)
      repository.write('.gitattributes', '* text=auto\n')
      commit(repository)
      repository.write('crlf', 'a\r\nc\r\n')
    },
  ],
  [
    'the attributes of the index hold where the file is deleted',
    ({ repository, at }) => {
      repository.write('.gitattributes', 'id ident\n')
      commit(repository)
      rmSync(at('.gitattributes'))
      repository.write('id', '$Id: else $\n')
    },
  ],
  [
    'the attributes of the index hold where the file is not checked out',
    ({ repository }) => {
      repository.write('sub/.gitattributes', 'id ident\n')
      repository.write('sub/id', '$Id$\n')
      commit(repository)
      repository.run('sparse-checkout', 'set', '--no-cone', '/*', '!/sub/.gitattributes')
      repository.write('sub/id', '$Id: else $\nmore\n')
    },
  ],
  ['a program', ({ at }) => writeFileSync(at('new'), '#!\n', { mode: 0o755 })],
  ['a link', ({ at }) => symlinkSync('a', at('link'))],
  [
    'a link in the place of a file',
    ({ at }) => {
      rmSync(at('a'))
      symlinkSync('b', at('a'))
    },
  ],
  ['a newline in a name', ({ repository }) => repository.write('two\nlines', 'x\n')],
  ['a quoted name', ({ repository }) => repository.write('"a"', 'x\n')],
  [
    'very many files',
    ({ repository }) => {
      for (let i = 0; i < 101; i += 1) repository.write(`many/${i}`, `${i}\n`)
    },
  ],
])('with an index, because git decides by it: %s', async (_, change) => {
  const made = create()
  for (const name of ['a', 'b']) made.repository.write(name, `${name}\n`)
  commit(made.repository)
  change(made)
  made.repository.write('b', 'changed\n')
  expect(await made.snapshot()).toBe(made.plain())
  expect(made.log()).toContain('write-tree')
})

test('a mode that git does not write any more, and a repository with long ids', async () => {
  const old = create()
  old.repository.write('a', 'a\n')
  commit(old.repository)
  const blob = old.repository.run('rev-parse', 'HEAD:a').trim()
  const row = Buffer.concat([Buffer.from('100664 a\0'), Buffer.from(blob, 'hex')])
  const options = { cwd: old.repository.root, encoding: 'utf8', input: row } as const
  const tree = execFileSync('git', ['hash-object', '-t', 'tree', '-w', '--stdin', '--literally'], options)
  const made = old.repository.run('commit-tree', '-m', 'old', tree.trim()).trim()
  old.repository.run('reset', '-q', '--hard', made)
  old.repository.write('b', 'b\n')
  expect(await old.snapshot()).toBe(old.plain())

  const long = create('--object-format=sha256')
  for (const name of ['a', 'dir/b']) long.repository.write(name, `${name}\n`)
  commit(long.repository)
  long.repository.write('dir/b', 'changed\n')
  expect(await long.snapshot()).toBe(long.plain())
  expect(long.log()).not.toContain('write-tree')
})

function commit(repository: ReturnType<typeof initRepository>): void {
  repository.run('add', '--all')
  repository.run('commit', '-qm', 'a commit')
}

function create(...init: string[]) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-edited-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const root = path.join(folder, 'repository')
  if (init.length > 0) execFileSync('git', ['init', '-q', '-b', 'main', ...init, root])
  const repository = initRepository(root)
  const [state, programs, logged] = ['state', 'programs', 'log'].map(name => path.join(folder, name)) as [
    string,
    string,
    string,
  ]
  mkdirSync(state)
  mkdirSync(programs)
  const own = process.env.PATH ?? ''
  // A git that writes down what it is asked for.
  writeFileSync(
    path.join(programs, 'git'),
    `#!/bin/sh\necho "$*" >> '${logged}'\nPATH='${own}' exec git "$@"\n`,
  )
  chmodSync(path.join(programs, 'git'), 0o755)
  return {
    repository,
    at: (file: string) => path.join(root, file),
    log: () => readFileSync(logged, 'utf8'),
    snapshot: async () => {
      const found = await findRepository(root)
      if (found === undefined) throw new Error('no repository')
      const env = { ...found.env, PATH: `${programs}:${own}` }
      return (await takeSnapshot({ ...found, env }, state)).tree
    },
    /** The tree that git makes with an index. */
    plain: () => {
      const env = { ...process.env, GIT_INDEX_FILE: path.join(folder, 'plain-index') }
      const run = (...args: string[]) =>
        execFileSync('git', args, { cwd: root, env, encoding: 'utf8', stdio: 'pipe' }).trim()
      rmSync(env.GIT_INDEX_FILE, { force: true })
      run('read-tree', 'HEAD')
      // A sparse checkout stays one.
      if (repository.run('config', '--default', 'false', '--get', 'core.sparseCheckout').trim() === 'true')
        run('read-tree', '-m', 'HEAD')
      run('add', '--all')
      return run('write-tree')
    },
  }
}
