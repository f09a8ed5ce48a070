import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  branchState,
  commitFiles,
  commitHooks,
  findRepository,
  type GitRepository,
  mergeIntoBase,
  rebaseOnBase,
  takeConflicts,
  type Worktree,
  Worktrees,
} from '../src/index.ts'

let repository: Repository
let worktree: Worktree
let opened: GitRepository
let mark: string

beforeEach(async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-merge-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mark = path.join(folder, 'ran')
  repository = initRepository(path.join(folder, 'shop'))
  repository.run('config', 'user.name', 'A User')
  repository.run('config', 'user.email', 'user@example')
  repository.write('a.txt', 'one\ntwo\nthree\n')
  repository.write('b.txt', 'b\n')
  repository.write('.gitignore', 'ignored\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  worktree = (
    await new Worktrees(path.join(folder, 'home')).make({ projectRoot: repository.root, title: 'work' })
  ).worktree
  opened = await open(worktree.folder)
})

async function open(folder: string): Promise<GitRepository> {
  const found = await findRepository(folder)
  if (found === undefined) throw new Error('no repository')
  return found
}

const branches = () => ({ branch: worktree.branch, base: 'main' })
const write = (file: string, content: string) => writeFileSync(path.join(worktree.folder, file), content)
const read = (file: string) => readFileSync(path.join(repository.root, file), 'utf8')
const commit = (message = 'work') => commitFiles(opened, worktree.folder, { message })
const merge = (how: 'merge' | 'squash' = 'merge') =>
  mergeIntoBase(opened, { ...branches(), how, message: 'Merge it' })
const log = (ref: string) => repository.run('log', '--format=%s|%an', ref).trim().split('\n')

describe('a commit', () => {
  test('is the user’s, runs no hook unless allowed, and has new, changed and deleted files', async () => {
    repository.write('.git/hooks/pre-commit', `#!/bin/sh\ntouch ${mark}\n`)
    chmodSync(path.join(repository.root, '.git/hooks/pre-commit'), 0o755)
    repository.run('config', 'commit.gpgSign', 'true')
    repository.run('config', 'gpg.program', `${mark}-gpg`)
    opened = await open(worktree.folder)
    write('a.txt', 'changed\n')
    write('new.txt', 'new\n')
    rmSync(path.join(worktree.folder, 'b.txt'))
    const made = await commit('Do it\n\n# with a line that begins with a hash')
    expect(made.files).toEqual(['a.txt', 'b.txt', 'new.txt'])
    expect(log(worktree.branch)).toEqual(['Do it|A User', 'first|a'])
    expect(existsSync(mark)).toBe(false)
    await expect(commit()).rejects.toThrow('There is nothing to commit.')
    write('a.txt', 'again\n')
    expect(await commitHooks(opened)).toEqual(['pre-commit'])
    await commitFiles(opened, worktree.folder, { message: 'hooks', hooks: true })
    expect(existsSync(mark)).toBe(true)
  })

  test('of some files leaves the others and their staged changes as they are', async () => {
    write('a.txt', 'mine\n')
    repository.run('-C', worktree.folder, 'add', 'a.txt')
    write('new.txt', 'new\n')
    await commitFiles(opened, worktree.folder, { message: 'one', files: ['new.txt'] })
    expect(repository.run('-C', worktree.folder, 'status', '--porcelain')).toBe('M  a.txt\n')
  })

  test('without an identity or a message is refused', async () => {
    write('a.txt', 'mine\n')
    await expect(commit(' \n')).rejects.toThrow('no message')
    repository.run('config', '--unset', 'user.email')
    const anonymous = { ...opened, overrides: [...opened.overrides, ['user.email', ''] as [string, string]] }
    await expect(commitFiles(anonymous, worktree.folder, { message: 'x' })).rejects.toThrow('who you are')
  })
})

describe('a merge into the base', () => {
  test('moves files and branch of a clean project folder forward', async () => {
    write('a.txt', 'one\n2\nthree\n')
    await expect(merge()).rejects.toThrow('The work folder has uncommitted work: a.txt.')
    await commit()
    expect(await merge()).toMatchObject({ kind: 'merged', how: 'fast-forward' })
    expect(read('a.txt')).toBe('one\n2\nthree\n')
    expect(repository.run('status', '--porcelain')).toBe('')
    expect(await merge()).toEqual({ kind: 'nothing' })
  })

  test('makes a merge commit or one squashed commit where the base went on, also while it is checked out nowhere', async () => {
    write('a.txt', 'one\n2\nthree\n')
    await commit('step one')
    write('c.txt', 'c\n')
    await commit('step two')
    repository.write('b.txt', 'the base went on\n')
    repository.run('commit', '-qam', 'base')
    repository.run('checkout', '-q', '--detach')
    expect(await branchState(opened, branches())).toMatchObject({
      ahead: 2,
      behind: 1,
      uncommitted: 0,
      conflicts: [],
    })
    const start = repository.run('rev-parse', 'main').trim()
    expect(await merge('squash')).toMatchObject({ kind: 'merged', how: 'squash' })
    expect(log('main')).toEqual(['Merge it|A User', 'base|a', 'first|a'])
    repository.run('update-ref', 'refs/heads/main', start)
    expect(await merge()).toMatchObject({ how: 'merge' })
    expect(repository.run('show', 'main:b.txt')).toBe('the base went on\n')
    expect(repository.run('show', 'main:a.txt')).toBe('one\n2\nthree\n')
    // The folder has no branch checked out: nothing of it moved.
    expect(read('a.txt')).toBe('one\ntwo\nthree\n')
  })

  test('never touches uncommitted, new or ignored files of the project folder', async () => {
    write('a.txt', 'agent\n')
    write('new.txt', 'agent\n')
    await commit()
    const blocked = async () => (await branchState(opened, branches())).blocked
    expect(await blocked()).toBeNull()
    repository.write('a.txt', 'a person\n')
    const changed = `${repository.root}, where main is checked out, has uncommitted work in files that the merge changes: a.txt.`
    expect(await blocked()).toContain(changed)
    await expect(merge()).rejects.toThrow(changed)
    repository.run('checkout', '-q', 'a.txt')
    repository.write('new.txt', 'a person, not tracked\n')
    expect(await blocked()).toContain('files that git does not know in the place of new ones: new.txt.')
    await expect(merge()).rejects.toThrow('Nothing was merged.')
    expect(read('new.txt')).toBe('a person, not tracked\n')
    expect(read('a.txt')).toBe('one\ntwo\nthree\n')
    rmSync(path.join(repository.root, 'new.txt'))
    expect(await merge()).toMatchObject({ kind: 'merged' })
  })

  test.each(['changed', 'staged', 'deleted'])(
    'goes on beside a file that a person %s and it does not touch',
    async how => {
      write('a.txt', 'agent\n')
      await commit()
      if (how === 'deleted') rmSync(path.join(repository.root, 'b.txt'))
      else repository.write('b.txt', 'a person\n')
      if (how === 'staged') repository.run('add', 'b.txt')
      const before = repository.run('status', '--porcelain')
      expect((await branchState(opened, branches())).blocked).toBeNull()
      expect(await merge()).toMatchObject({ kind: 'merged', how: 'fast-forward' })
      expect(repository.run('status', '--porcelain')).toBe(before)
      expect(read('a.txt')).toBe('agent\n')
      if (how !== 'deleted') expect(read('b.txt')).toBe('a person\n')
    },
  )

  test('an ignored file of a person that the branch also has is not overwritten', async () => {
    write('.gitignore', '')
    write('ignored', 'agent\n')
    await commit()
    repository.write('ignored', 'a person\n')
    await expect(merge()).rejects.toThrow('Nothing was merged.')
    expect(read('ignored')).toBe('a person\n')
  })

  test('with conflicts changes nothing, names them, and can be handed to the agent', async () => {
    write('a.txt', 'agent\n')
    await commit()
    repository.write('a.txt', 'a person\n')
    repository.run('commit', '-qam', 'base')
    expect(await merge()).toEqual({ kind: 'conflicts', files: ['a.txt'] })
    expect((await branchState(opened, branches())).conflicts).toEqual(['a.txt'])
    expect(await rebaseOnBase(opened, branches())).toEqual({ kind: 'conflicts', files: ['a.txt'] })
    expect(repository.run('status', '--porcelain')).toBe('')
    expect(repository.run('-C', worktree.folder, 'status', '--porcelain')).toBe('')
    expect(await takeConflicts(opened, branches())).toEqual(['a.txt'])
    expect(readFileSync(path.join(worktree.folder, 'a.txt'), 'utf8')).toContain('<<<<<<<')
    await expect(merge()).rejects.toThrow('in the middle of a merge')
    write('a.txt', 'both\n')
    await commit('Resolve it')
    expect(await merge()).toMatchObject({ kind: 'merged', how: 'fast-forward' })
    expect(read('a.txt')).toBe('both\n')
  })

  test('runs no merge driver and no hook of the repository', async () => {
    repository.run('config', 'merge.evil.driver', `touch ${mark}; exit 1`)
    for (const hook of ['post-merge', 'post-checkout', 'reference-transaction', 'pre-merge-commit']) {
      repository.write(`.git/hooks/${hook}`, `#!/bin/sh\ntouch ${mark}\n`)
      chmodSync(path.join(repository.root, '.git/hooks', hook), 0o755)
    }
    repository.write('.git/info/attributes', '* merge=evil\n')
    opened = await open(worktree.folder)
    write('a.txt', 'ONE\ntwo\nthree\n')
    await commit()
    repository.write('a.txt', 'one\ntwo\nTHREE\n')
    repository.run('-c', 'core.hooksPath=/dev/null', 'commit', '-qam', 'base')
    await merge()
    await takeConflicts(opened, branches())
    expect(existsSync(mark)).toBe(false)
  })
})

test('a rebase repeats each commit on the base, with its author and message', async () => {
  write('a.txt', 'one\n2\nthree\n')
  await commit('step one\n\nwith a body')
  write('c.txt', 'c\n')
  await commit('step two')
  repository.write('b.txt', 'the base went on\n')
  repository.run('commit', '-qam', 'base')
  expect(await rebaseOnBase(opened, branches())).toMatchObject({ kind: 'merged' })
  expect(log(worktree.branch)).toEqual(['step two|A User', 'step one|A User', 'base|a', 'first|a'])
  expect(repository.run('log', '-1', '--format=%b', `${worktree.branch}^`).trim()).toBe('with a body')
  expect(readFileSync(path.join(worktree.folder, 'b.txt'), 'utf8')).toBe('the base went on\n')
  expect(repository.run('-C', worktree.folder, 'status', '--porcelain')).toBe('')
  expect(await rebaseOnBase(opened, branches())).toEqual({ kind: 'nothing' })
  expect(repository.run('fsck', '--no-dangling')).toBe('')
})
