import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, putOddFile } from '@chirality/fixtures'
import { expect, onTestFinished, test } from 'vitest'
import { findRepository, git, gitStatus } from '../src/index.ts'

const STATUS = ['status', '--porcelain=v2', '--untracked-files=all']
const LOG = ['log', '-1']

test('a git that waits for a named pipe of the project ends, and the pipe is named', async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-pipe-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const waits: [file: string, command: string[]][] = [
    ['.gitignore', STATUS],
    ['.chirality/.gitignore', STATUS],
    ['deep/er/.gitignore', STATUS],
    ['.gitattributes', ['blame', 'a.txt']],
    ['.mailmap', LOG],
    ['.git/info/exclude', STATUS],
    ['.git/HEAD', LOG],
  ]
  await Promise.all(
    waits.map(async ([file, command], i) => {
      const repository = initRepository(path.join(folder, String(i)))
      repository.write('a.txt', 'a\n')
      repository.run('add', '.')
      repository.run('commit', '-qm', 'first')
      repository.write(path.join(path.dirname(file), 'beside.txt'), 'b\n')
      const opened = await findRepository(repository.root)
      if (opened === undefined) throw new Error('no repository')
      // Nobody waits for this one: it is no reason to end a command.
      putOddFile('a FIFO that nobody writes', path.join(repository.root, 'a-pipe'))
      await git(opened, command)
      putOddFile('a FIFO that nobody writes', path.join(repository.root, file))
      await expect(git(opened, command)).rejects.toMatchObject({
        code: 'git-failed',
        message: `git ${command[0]}: waits for ${file}, which is a named pipe. Remove it.`,
      })
    }),
  )
})

test('a link in the place of such a file is not followed', async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-pipe-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const repository = initRepository(folder)
  repository.write('a.txt', 'a\n')
  for (const name of ['.gitignore', '.gitattributes', '.gitmodules', '.mailmap'])
    putOddFile('a link to a device without an end', path.join(folder, name))
  putOddFile('a link to itself', path.join(folder, 'deep', '.gitignore'))
  expect((await gitStatus(folder))?.files.map(({ path: file }) => file)).toContain('a.txt')
})
