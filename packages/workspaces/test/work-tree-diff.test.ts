import { existsSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { diffTrees } from '../src/git/diff-trees.ts'
import { findRepository } from '../src/git/find-repository.ts'
import { commit, loggedRepository } from './support/logged-repository.ts'

test('files as they were are compared once, beside the look at them; changed files as they are now', async () => {
  const { repository, at, state, snapshot, diff, log, forgetLog } = loggedRepository()
  for (const name of ['a', 'b']) repository.write(name, `${name}\n`)
  commit(repository)
  const changed = async () => (await diff()).files.map(({ path: name, added }) => `${name} ${added}`)
  expect(await changed()).toEqual([])
  repository.write('a', 'one\n')
  await settled(at('a'))
  await snapshot()
  forgetLog()
  expect(await changed()).toEqual(['a 1'])
  expect(diffsIn(log())).toHaveLength(1)
  expect(log()).not.toContain('hash-object')

  repository.write('a', 'two\nlines\n')
  expect(await changed()).toEqual(['a 2'])
  repository.write('b', 'B\n')
  await settled(at('b'))
  expect(await changed()).toEqual(['a 2', 'b 1'])
  // Trimmed by another process: what is compared beside the look is gone.
  rmSync(path.join(state, 'objects'), { recursive: true })
  expect(await changed()).toEqual(['a 2', 'b 1'])
  commit(repository)
  expect(await changed()).toEqual([])
  repository.run('reset', '-q', '--soft', 'HEAD~1')
  expect(await changed()).toEqual(['a 2', 'b 1'])
})

test('before the first commit', async () => {
  const { repository, diff } = loggedRepository()
  expect((await diff()).files).toEqual([])
  repository.write('a', 'a\n')
  expect(await diff()).toMatchObject({ files: [{ path: 'a', kind: 'added' }], truncated: false })
  const { repository: other } = loggedRepository()
  other.write('b', 'b\n')
  commit(other)
  const to = other.run('rev-parse', 'HEAD').trim()
  repository.run('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.root, 'lib')
  expect((await diff()).submodules).toEqual([{ path: 'lib', from: null, to }])
})

test('a submodule at another commit is named; nothing in it runs, and what .gitmodules names beside it counts for nothing', async () => {
  const { repository, at, state, diff } = loggedRepository()
  repository.write('a', 'a\n')
  commit(repository)
  repository.run('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', repository.root, 'lib')
  const first = repository.run('rev-parse', 'HEAD').trim()
  expect((await diff()).submodules).toEqual([{ path: 'lib', from: null, to: first }])
  commit(repository)
  expect((await diff()).submodules).toBeUndefined()
  const inLib = (...args: string[]) => repository.run('-C', 'lib', ...args).trim()
  const from = inLib('rev-parse', 'HEAD')
  // A program that its config names: `git status` in it would run it.
  const ran = at('ran')
  inLib('config', 'core.fsmonitor', `touch ${ran}; false`)
  repository.write('lib/a', 'only changed\n')
  expect((await diff()).submodules).toBeUndefined()
  inLib('-c', 'core.fsmonitor=', '-c', 'user.name=me', '-c', 'user.email=me@example', 'commit', '-qam', 'on')
  const to = inLib('rev-parse', 'HEAD')
  expect(await diff()).toMatchObject({ files: [], submodules: [{ path: 'lib', from, to }] })
  rmSync(at('lib'), { recursive: true })
  expect((await diff()).submodules).toEqual([{ path: 'lib', from, to: null }])
  expect(existsSync(ran)).toBe(false)

  // Names as in commits.
  const treeOf = (name: string) => repository.run('rev-parse', `${name}^{tree}`).trim()
  const between = async (before: string, after: string) => {
    const found = await findRepository(repository.root)
    if (found === undefined) throw new Error('There is no repository.')
    return diffTrees(found, { from: treeOf(before), to: treeOf(after), stateFolder: state })
  }
  repository.run('update-index', '--cacheinfo', `160000,${to},lib`)
  repository.run('commit', '-qm', 'further')
  expect(await between('HEAD~1', 'HEAD')).toMatchObject({
    files: [],
    submodules: [{ path: 'lib', from, to }],
  })
  expect((await between('HEAD', 'HEAD')).submodules).toBeUndefined()
  expect((await between('HEAD~2', 'HEAD~1')).submodules).toEqual([{ path: 'lib', from: null, to: from }])
  repository.run('update-index', '--force-remove', 'lib')
  repository.run('commit', '-qm', 'without')
  expect((await between('HEAD~1', 'HEAD')).submodules).toEqual([{ path: 'lib', from: to, to: null }])
  repository.run('reset', '-q', '--soft', 'HEAD~2')
  repository.run('reset', '-q')

  // A file of the project that says what git says of a submodule.
  repository.write('a', `-Subproject commit ${from}\n`)
  const more = ['a', '.', '../..', '/', ':(glob)**'].map(name => `[submodule "${name}"]\n\tpath = ${name}\n`)
  repository.write('.gitmodules', more.join(''))
  expect((await diff()).submodules).toEqual([{ path: 'lib', from, to: null }])
  repository.write('.gitmodules', '[submodule "a"]\n\tpath = a\n')
  expect((await diff()).submodules).toBeUndefined()
  repository.write('.gitmodules', '[[')
  expect((await diff()).files.map(({ path: name }) => name)).toEqual(['.gitmodules', 'a'])
})

function diffsIn(log: string): string[] {
  return log.split('\n').filter(line => line.startsWith('--no-pager diff '))
}

/** Until the next change of the file has another time for sure. */
async function settled(file: string): Promise<void> {
  const { ctimeMs } = statSync(file)
  // A time in whole seconds may be of a file system that knows no other.
  const ageMs = ctimeMs % 1000 === 0 ? 2600 : 150
  await expect.poll(() => Date.now() - ctimeMs, { timeout: 10_000 }).toBeGreaterThan(ageMs)
}
