import { execFileSync } from 'node:child_process'
import { chmodSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { commit, loggedRepository } from './support/logged-repository.ts'

test('a few edits make the tree that git makes with an index, and git is not asked for one', async () => {
  const { repository, at, snapshot, plain, log } = loggedRepository()
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

test.each<[string, (of: ReturnType<typeof loggedRepository>) => void]>([
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
  [
    'a carriage return at the end of a name',
    ({ repository }) => {
      for (const name of ['x', 'x\r', 'd/g', 'd\r/g', 'd\r/h']) repository.write(name, 'one\n')
      commit(repository)
      for (const name of ['x\r', 'd\r/g']) repository.write(name, 'changed\n')
    },
  ],
  ['a quoted name', ({ repository }) => repository.write('"a"', 'x\n')],
  [
    'very many files',
    ({ repository }) => {
      for (let i = 0; i < 101; i += 1) repository.write(`many/${i}`, `${i}\n`)
    },
  ],
])('with an index, because git decides by it: %s', async (_, change) => {
  const made = loggedRepository()
  for (const name of ['a', 'b']) made.repository.write(name, `${name}\n`)
  commit(made.repository)
  change(made)
  made.repository.write('b', 'changed\n')
  expect(await made.snapshot()).toBe(made.plain())
  expect(made.log()).toContain('write-tree')
})

test('a name that an index refuses is left out, as git does', async () => {
  const { repository, snapshot, plain } = loggedRepository()
  repository.write('a', 'a\n')
  commit(repository)
  repository.write('a', 'changed\n')
  const without = plain()
  for (const name of ['git~1', 'sub/.GIT/config', 'back\\.git']) repository.write(name, 'x\n')
  expect(await snapshot()).toBe(without)
})

test('a mode that git does not write any more, and a repository with long ids', async () => {
  const old = loggedRepository()
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

  const long = loggedRepository('--object-format=sha256')
  for (const name of ['a', 'dir/b']) long.repository.write(name, `${name}\n`)
  commit(long.repository)
  long.repository.write('dir/b', 'changed\n')
  expect(await long.snapshot()).toBe(long.plain())
  expect(long.log()).not.toContain('write-tree')
})
