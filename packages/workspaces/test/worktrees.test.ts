import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Worktrees } from '../src/worktrees/worktrees.ts'

let repository: Repository
let home: string
let worktrees: Worktrees

beforeEach(() => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-worktrees-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  repository = initRepository(path.join(folder, 'shop'))
  repository.write('a.txt', 'one\ntwo\n')
  repository.write('b/c.txt', 'c\n')
  repository.write('.gitignore', 'ignored\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  home = path.join(folder, 'home', 'worktrees')
  worktrees = new Worktrees(home)
})

const make = (title = 'Fix the login', base?: string) =>
  worktrees.make({ projectRoot: repository.root, title, base })

/** Git inside a worktree, with the identity of the test's repository. */
function within(folder: string, ...args: string[]): string {
  return repository.run('-C', folder, ...args)
}

describe('a new worktree', () => {
  test('is outside the project, on a branch of its own that begins at what is checked out', async () => {
    const { worktree, base } = await make()
    expect(worktree).toMatchObject({ branch: 'chirality/fix-the-login', baseBranch: 'main', state: 'ready' })
    expect(worktree.folder.startsWith(home)).toBe(true)
    expect(path.basename(worktree.folder)).toBe('shop')
    expect(readFileSync(path.join(worktree.folder, 'a.txt'), 'utf8')).toBe('one\ntwo\n')
    expect(within(worktree.folder, 'branch', '--show-current').trim()).toBe('chirality/fix-the-login')
    expect(base).toMatchObject({ uncommitted: 0, hasLfsPointers: false })
    expect(repository.run('status', '--porcelain')).toBe('')
  })

  test('does not have the uncommitted files of the project folder, and says how many there are', async () => {
    repository.write('a.txt', 'mine\n')
    repository.write('new.txt', 'mine too\n')
    const { worktree, base } = await make()
    expect(base.uncommitted).toBe(2)
    expect(readFileSync(path.join(worktree.folder, 'a.txt'), 'utf8')).toBe('one\ntwo\n')
    expect(readFileSync(path.join(repository.root, 'a.txt'), 'utf8')).toBe('mine\n')
  })

  test('with a title that is taken gets another branch', async () => {
    await make()
    const { worktree } = await make()
    expect(worktree.branch).toBe(`chirality/${worktree.id}`)
  })

  test.each([
    ['…', 'chirality/work'],
    ['-rf / --no; `x`', 'chirality/rf-no-x'],
    ['../../../etc', 'chirality/etc'],
    ['Grüße an alle', 'chirality/gru-e-an-alle'],
  ])('the title %j gives the branch %s', async (title, branch) => {
    expect((await make(title)).worktree.branch).toBe(branch)
  })

  test('begins at a branch, a tag or a commit that is given', async () => {
    repository.run('tag', 'v1')
    repository.write('a.txt', 'later\n')
    repository.run('commit', '-qam', 'second')
    const { worktree } = await make('old', 'v1')
    expect(worktree.baseBranch).toBeNull()
    expect(readFileSync(path.join(worktree.folder, 'a.txt'), 'utf8')).toBe('one\ntwo\n')
  })

  test('of a detached HEAD begins at its commit', async () => {
    repository.run('checkout', '-q', '--detach')
    expect((await make()).worktree).toMatchObject({ baseBranch: null, state: 'ready' })
  })

  test('of a sparse checkout has the same files', async () => {
    repository.run('sparse-checkout', 'set', '--no-cone', '/a.txt')
    const { worktree } = await make()
    expect(readdirSync(worktree.folder).sort()).toEqual(['.git', 'a.txt'])
  })

  test('of a repository with Git LFS that is not set up has the pointers, and says so', async () => {
    vi.stubEnv('HOME', path.dirname(repository.root))
    vi.stubEnv('XDG_CONFIG_HOME', path.dirname(repository.root))
    onTestFinished(() => void vi.unstubAllEnvs())
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 9\n`
    repository.write('.gitattributes', '*.bin filter=lfs diff=lfs merge=lfs -text\n')
    repository.write('large.bin', pointer)
    repository.run('add', '.')
    repository.run('commit', '-qm', 'large files')
    const { worktree, base } = await make()
    expect(base.hasLfsPointers).toBe(true)
    expect(readFileSync(path.join(worktree.folder, 'large.bin'), 'utf8')).toBe(pointer)
  })

  test('of a worktree of a bare repository', async () => {
    const bare = path.join(path.dirname(repository.root), 'bare.git')
    const linked = path.join(path.dirname(repository.root), 'linked')
    repository.run('clone', '-q', '--bare', repository.root, bare)
    repository.run('-C', bare, 'worktree', 'add', '-q', linked, 'main')
    const { worktree } = await worktrees.make({ projectRoot: linked, title: 'x' })
    expect(existsSync(path.join(worktree.folder, 'a.txt'))).toBe(true)
    expect(await worktrees.remove(worktree.id)).toBeUndefined()
    expect(existsSync(linked)).toBe(true)
  })

  test('of a project in a folder of the repository says where the project is', async () => {
    const { worktree } = await worktrees.make({ projectRoot: path.join(repository.root, 'b'), title: 'x' })
    expect(worktree.prefix).toBe('b')
  })
})

describe('is refused before anything is made', () => {
  const untouched = () => {
    expect(existsSync(home)).toBe(false)
    expect(repository.run('branch', '--list', 'chirality/*')).toBe('')
  }

  test('for a folder without git', async () => {
    const projectRoot = path.dirname(repository.root)
    await expect(worktrees.make({ projectRoot, title: 'x' })).rejects.toMatchObject({
      code: 'worktree-refused',
      message: expect.stringContaining('not in a git repository'),
    })
    untouched()
  })

  test('for a repository without a commit', async () => {
    const empty = initRepository(path.join(path.dirname(repository.root), 'empty'))
    await expect(worktrees.make({ projectRoot: empty.root, title: 'x' })).rejects.toThrow(/no commit yet/)
    untouched()
  })

  test.each(['nowhere', '--detach', '', 'a\0b'])('for the base %j', async base => {
    await expect(make('x', base)).rejects.toMatchObject({ code: 'worktree-refused' })
    untouched()
  })

  test('for a repository with submodules', async () => {
    repository.run('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', repository.root, 'sub')
    repository.run('commit', '-qm', 'sub')
    await expect(make()).rejects.toThrow(/submodules/)
    untouched()
  })

  test('for a folder whose .git is a link to a repository elsewhere', async () => {
    const projectRoot = path.join(path.dirname(repository.root), 'linked')
    mkdirSync(projectRoot)
    symlinkSync(path.join(repository.root, '.git'), path.join(projectRoot, '.git'))
    await expect(worktrees.make({ projectRoot, title: 'x' })).rejects.toThrow(/not in a git repository/)
    untouched()
  })

  test('for a project folder that the base does not have', async () => {
    repository.write('new/x.txt', 'x')
    const projectRoot = path.join(repository.root, 'new')
    await expect(worktrees.make({ projectRoot, title: 'x' })).rejects.toThrow(
      /folder new is not in the commit/,
    )
    untouched()
  })
})

describe('a removed worktree', () => {
  test('with nothing of its own leaves nothing', async () => {
    const { worktree } = await make()
    expect(await worktrees.remove(worktree.id)).toBeUndefined()
    expect(readdirSync(home)).toEqual([])
    expect(repository.run('for-each-ref', 'refs/chirality', 'refs/heads/chirality')).toBe('')
    expect(repository.run('worktree', 'list').trim().split('\n')).toHaveLength(1)
    await expect(worktrees.remove(worktree.id)).rejects.toMatchObject({ code: 'worktree-missing' })
  })

  test('comes back with its commits, its changed, new, deleted and staged files', async () => {
    const { worktree } = await make()
    const file = (name: string) => path.join(worktree.folder, name)
    writeFileSync(file('done.txt'), 'done\n')
    within(worktree.folder, 'add', '.')
    within(worktree.folder, 'commit', '-qm', 'done')
    writeFileSync(file('a.txt'), 'staged\n')
    within(worktree.folder, 'add', 'a.txt')
    writeFileSync(file('a.txt'), 'changed again\n')
    writeFileSync(file('new.txt'), 'new\n')
    rmSync(file('b/c.txt'))
    writeFileSync(file('ignored'), 'not kept\n')
    const status = within(worktree.folder, 'status', '--porcelain')
    const head = within(worktree.folder, 'rev-parse', 'HEAD')

    expect(await worktrees.remove(worktree.id)).toMatchObject({ commits: 1, files: 3 })
    expect(existsSync(worktree.folder)).toBe(false)
    expect(repository.run('branch', '--list', 'chirality/*')).toBe('')
    expect(await worktrees.list()).toMatchObject([{ id: worktree.id, condition: 'removed' }])

    await worktrees.restore(worktree.id)
    expect(within(worktree.folder, 'rev-parse', 'HEAD')).toBe(head)
    expect(within(worktree.folder, 'status', '--porcelain')).toBe(status)
    expect(within(worktree.folder, 'branch', '--show-current').trim()).toBe(worktree.branch)
    expect(readFileSync(file('a.txt'), 'utf8')).toBe('changed again\n')
    expect(within(worktree.folder, 'show', ':a.txt')).toBe('staged\n')
    expect(repository.run('for-each-ref', 'refs/chirality')).toBe('')
    expect(repository.run('fsck', '--no-dangling')).toBe('')
  })

  test('is not kept when its commits are merged', async () => {
    const { worktree } = await make()
    writeFileSync(path.join(worktree.folder, 'done.txt'), 'done\n')
    within(worktree.folder, 'add', '.')
    within(worktree.folder, 'commit', '-qm', 'done')
    repository.run('merge', '-q', worktree.branch)
    expect(await worktrees.remove(worktree.id)).toBeUndefined()
  })

  test('with a conflict keeps the files as they are', async () => {
    const { worktree } = await make()
    writeFileSync(path.join(worktree.folder, 'a.txt'), 'theirs\n')
    within(worktree.folder, 'commit', '-qam', 'theirs')
    repository.write('a.txt', 'ours\n')
    repository.run('commit', '-qam', 'ours')
    expect(() => within(worktree.folder, 'merge', '-q', 'main')).toThrow()
    await worktrees.remove(worktree.id)
    await worktrees.restore(worktree.id)
    expect(readFileSync(path.join(worktree.folder, 'a.txt'), 'utf8')).toContain('<<<<<<<')
  })

  test('can be forgotten with what was kept', async () => {
    const { worktree } = await make()
    writeFileSync(path.join(worktree.folder, 'new.txt'), 'x')
    await expect(worktrees.forget(worktree.id)).rejects.toMatchObject({ code: 'worktree-exists' })
    await worktrees.remove(worktree.id)
    await worktrees.forget(worktree.id)
    expect(await worktrees.list()).toEqual([])
    expect(repository.run('for-each-ref', 'refs/chirality')).toBe('')
  })
})

test('whether it has work of its own is found out without writing into the repository', async () => {
  const { worktree } = await make()
  const objects = () => repository.run('count-objects', '-v')
  const isClean = () => worktrees.isClean(worktree.id)
  const before = objects()
  expect(await isClean()).toBe(true)
  writeFileSync(path.join(worktree.folder, 'ignored'), 'x\n')
  expect(await isClean()).toBe(true)
  writeFileSync(path.join(worktree.folder, 'new.txt'), 'new\n')
  expect(await isClean()).toBe(false)
  rmSync(path.join(worktree.folder, 'new.txt'))
  writeFileSync(path.join(worktree.folder, 'a.txt'), 'changed\n')
  expect(await isClean()).toBe(false)
  writeFileSync(path.join(worktree.folder, 'a.txt'), 'one\ntwo\n')
  expect(await isClean()).toBe(true)
  initRepository(path.join(worktree.folder, 'nested')).write('n.txt', 'n\n')
  expect(await isClean()).toBe(false)
  rmSync(path.join(worktree.folder, 'nested'), { recursive: true })
  expect(objects()).toBe(before)
  writeFileSync(path.join(worktree.folder, 'a.txt'), 'staged\n')
  within(worktree.folder, 'add', 'a.txt')
  writeFileSync(path.join(worktree.folder, 'a.txt'), 'one\ntwo\n')
  expect(await isClean()).toBe(false)
  within(worktree.folder, 'commit', '-qm', 'own')
  expect(await isClean()).toBe(false)
})

describe('is not removed', () => {
  test('while it contains another repository, whose files git would not keep', async () => {
    const { worktree } = await make()
    const nested = initRepository(path.join(worktree.folder, 'vendor'))
    nested.write('x', 'x')
    nested.run('add', '.')
    nested.run('commit', '-qm', 'x')
    await expect(worktrees.remove(worktree.id)).rejects.toThrow(/another repository: vendor/)
    expect(existsSync(path.join(worktree.folder, 'vendor', 'x'))).toBe(true)
  })

  test('if its .git names another repository', async () => {
    const { worktree } = await make()
    const other = initRepository(path.join(path.dirname(repository.root), 'other'))
    other.write('x', 'x')
    other.run('add', '.')
    other.run('commit', '-qm', 'x')
    writeFileSync(path.join(worktree.folder, '.git'), `gitdir: ${path.join(other.root, '.git')}\n`)
    await expect(worktrees.remove(worktree.id)).rejects.toThrow(/\.git was changed/)
    expect(existsSync(path.join(worktree.folder, 'a.txt'))).toBe(true)
  })

  test('if its repository is gone', async () => {
    const { worktree } = await make()
    rmSync(repository.root, { recursive: true })
    expect(await worktrees.list()).toMatchObject([{ condition: 'orphaned' }])
    await expect(worktrees.remove(worktree.id)).rejects.toThrow(/not there any more.*untouched/)
    await worktrees.forget(worktree.id)
    expect(await worktrees.list()).toEqual([])
    expect(existsSync(path.join(worktree.folder, 'a.txt'))).toBe(true)
  })
})

test('a worktree that was removed by hand is noticed, and comes back with its commits', async () => {
  const { worktree } = await make()
  writeFileSync(path.join(worktree.folder, 'done.txt'), 'done\n')
  within(worktree.folder, 'add', '.')
  within(worktree.folder, 'commit', '-qm', 'done')
  rmSync(path.dirname(worktree.folder), { recursive: true })
  expect(await worktrees.list()).toMatchObject([{ condition: 'missing' }])
  await worktrees.restore(worktree.id)
  expect(readFileSync(path.join(worktree.folder, 'done.txt'), 'utf8')).toBe('done\n')
  rmSync(path.dirname(worktree.folder), { recursive: true })
  expect(await worktrees.remove(worktree.id)).toMatchObject({ commits: 1, files: 0 })
})

test('nothing that a hostile repository names is run', async () => {
  const canary = path.join(path.dirname(repository.root), 'canary')
  const evil = path.join(repository.root, '.git', 'evil.sh')
  writeFileSync(evil, `#!/bin/sh\ntouch ${canary}\ncat\n`, { mode: 0o755 })
  mkdirSync(path.join(repository.root, '.git', 'hooks'), { recursive: true })
  for (const hook of ['post-checkout', 'reference-transaction', 'post-index-change'])
    writeFileSync(path.join(repository.root, '.git', 'hooks', hook), readFileSync(evil), { mode: 0o755 })
  repository.write('.gitattributes', '* filter=evil\n')
  execFileSync('git', ['-C', repository.root, '-c', 'core.hooksPath=/dev/null', 'add', '.'])
  execFileSync('git', [
    ...[
      '-C',
      repository.root,
      '-c',
      'core.hooksPath=/dev/null',
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@example',
    ],
    ...['commit', '-qm', 'attributes'],
  ])
  for (const name of ['filter.evil.clean', 'filter.evil.smudge', 'core.fsmonitor', 'core.sshCommand'])
    execFileSync('git', ['-C', repository.root, 'config', name, evil])
  // The config of one work tree counts more than that of the repository.
  execFileSync('git', ['-C', repository.root, 'config', 'extensions.worktreeConfig', 'true'])
  const hooks = path.join(repository.root, '.git', 'hooks')
  const own = `[core]\n\tfsmonitor = ${evil}\n\thooksPath = ${hooks}\n[filter "evil"]\n\tclean = ${evil}\n\tsmudge = ${evil}\n\tprocess = ${evil}\n\trequired = true\n`
  writeFileSync(path.join(repository.root, '.git', 'config.worktree'), own)
  const { worktree } = await make()
  writeFileSync(path.join(worktree.folder, 'new.txt'), 'new\n')
  const administration = within(worktree.folder, 'rev-parse', '--absolute-git-dir').trim()
  expect(existsSync(canary)).toBe(false)
  writeFileSync(path.join(administration, 'config.worktree'), own)
  await worktrees.remove(worktree.id)
  await worktrees.restore(worktree.id)
  expect(readFileSync(path.join(worktree.folder, 'new.txt'), 'utf8')).toBe('new\n')
  expect(existsSync(canary)).toBe(false)
})
