import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, expect, test } from 'vitest'
import { packWork, repositoryMark } from '../src/worktrees/carried-work.ts'
import type { Worktrees } from '../src/worktrees/worktrees.ts'
import { useTwoClones } from './support/two-clones.ts'

// Repositories in states that a plain one never has. Their work arrives as it was, or is refused before anything is done.

let folder: string
let here: Repository
let there: string
let worktrees: Worktrees

const clones = useTwoClones({ 'a.txt': 'one\n' })
beforeEach(() => {
  ;({ folder, here, there, worktrees } = clones())
})

const bundle = () => clones().bundle

async function carry() {
  const mark = await repositoryMark(there)
  const before = here.run('status', '--porcelain', '-z')
  const work = await packWork({
    folder: here.root,
    haves: mark?.commits ?? [],
    bundle: bundle(),
    id: 'move-1',
  })
  expect(here.run('status', '--porcelain', '-z')).toBe(before)
  const made = await worktrees.receive({
    projectRoot: there,
    title: 'Fix it',
    id: 'move-1',
    work,
    bundle: bundle(),
  })
  const status = here.run('-C', made.folder, 'status', '--porcelain', '-z')
  return { work, made, before, status, file: (name: string) => path.join(made.folder, name) }
}

test('names with newlines, carriage returns and bytes that are no UTF-8', async () => {
  const names = ['x', 'x\r', 'two\nlines', ' blank ', '"quoted"', '-rf', 'ä']
  for (const name of names) here.write(name, `${JSON.stringify(name)}\n`)
  const odd = Buffer.concat([Buffer.from(`${here.root}/`), Buffer.from([0xff, 0xfe])])
  writeFileSync(odd, 'bytes\n')
  const { work, made, status, before, file } = await carry()
  expect(work.files).toBe(names.length + 1)
  expect(status).toBe(before)
  for (const name of names) expect(readFileSync(file(name), 'utf8')).toBe(`${JSON.stringify(name)}\n`)
  const arrived = Buffer.concat([Buffer.from(`${made.folder}/`), Buffer.from([0xff, 0xfe])])
  expect(readFileSync(arrived, 'utf8')).toBe('bytes\n')
})

test('a link that leads out of the repository stays a link, and nothing behind it is sent', async () => {
  const secret = path.join(folder, 'secret')
  mkdirSync(secret)
  writeFileSync(path.join(secret, 'key'), 'SECRET\n')
  symlinkSync(secret, path.join(here.root, 'out'))
  const { work, file } = await carry()
  expect(work.files).toBe(1)
  expect(readlinkSync(file('out'))).toBe(secret)
  expect(readFileSync(bundle()).includes('SECRET')).toBe(false)
})

test('a file whose name changed in its case only', async () => {
  here.run('mv', 'a.txt', 'A.txt')
  const { status, before, file } = await carry()
  expect(status).toBe(before)
  expect([existsSync(file('a.txt')), existsSync(file('A.txt'))]).toEqual([false, true])
})

test('a detached HEAD with a commit of its own', async () => {
  here.run('checkout', '-q', '--detach')
  here.write('a.txt', 'two\n')
  here.run('commit', '-qam', 'on no branch')
  const { work, made } = await carry()
  expect(work).toMatchObject({ branch: 'work', baseBranch: null })
  expect(here.run('-C', made.folder, 'log', '-1', '--format=%s')).toBe('on no branch\n')
})

test.each([
  ['rebase', ['rebase', 'other']],
  ['merge', ['merge', 'other']],
  ['cherry-pick', ['cherry-pick', 'other']],
  ['git am', ['-c', 'alias.mails=!git format-patch -1 --stdout other | git am --3way', 'mails']],
] as const)(
  'a %s with a conflict arrives as files, and it is known that it was one',
  async (name, command) => {
    here.run('checkout', '-qb', 'other')
    here.write('a.txt', 'theirs\n')
    here.run('commit', '-qam', 'theirs')
    here.run('checkout', '-q', 'main')
    here.write('a.txt', 'ours\n')
    here.run('commit', '-qam', 'ours')
    expect(() => here.run(...command)).toThrow()
    const { work, file } = await carry()
    expect(work.unfinished).toBe(name)
    expect(readFileSync(file('a.txt'), 'utf8')).toContain('<<<<<<<')
  },
)

test('staged files arrive as staged while another git holds the lock of the index', async () => {
  here.write('staged.txt', 'staged\n')
  here.run('add', 'staged.txt')
  here.write('staged.txt', 'staged and changed\n')
  const lock = path.join(here.root, '.git', 'index.lock')
  writeFileSync(lock, '')
  const { status } = await carry()
  expect(status).toBe('AM staged.txt\0')
  expect(existsSync(lock)).toBe(true)
})

test('a repository with submodules, and one with another inside, are refused with what to do', async () => {
  const inner = initRepository(path.join(here.root, 'inner'))
  inner.write('x', 'x')
  inner.run('add', '.')
  inner.run('commit', '-qm', 'inner')
  const pack = () => packWork({ folder: here.root, haves: [], bundle: bundle(), id: 'move-1' })
  await expect(pack()).rejects.toThrow(/contains another repository: inner\. Move what you need out of it/)
  rmSync(inner.root, { recursive: true })
  here.write('.gitmodules', '[submodule "s"]\n\tpath = s\n\turl = ../s\n')
  here.run('add', '.gitmodules')
  here.run('commit', '-qm', 'submodule')
  await expect(pack()).rejects.toThrow(/has submodules, whose files cannot be carried\. Its sessions stay/)
  expect(here.run('for-each-ref', 'refs/chirality')).toBe('')
})

test('files of Git LFS arrive as the pointers that git has of them', async () => {
  const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n'
  here.write('.gitattributes', '*.bin filter=lfs diff=lfs merge=lfs -text\n')
  here.write('a.bin', pointer)
  const { file, status, before } = await carry()
  expect(status).toBe(before)
  expect(readFileSync(file('a.bin'), 'utf8')).toBe(pointer)
})

test('a clone without the commits that the work builds on says which one is missing, and keeps nothing', async () => {
  here.write('a.txt', 'two\n')
  here.run('commit', '-qam', 'second')
  const second = here.run('rev-parse', 'HEAD').trim()
  here.write('a.txt', 'three\n')
  // Another clone had it when the copy was made.
  const work = await packWork({ folder: here.root, haves: [second], bundle: bundle(), id: 'move-1' })
  const receive = worktrees.receive({
    projectRoot: there,
    title: 'Fix it',
    id: 'move-1',
    work,
    bundle: bundle(),
  })
  await expect(receive).rejects.toThrow(
    `The commit ${second} of the session did not arrive. Run \`git fetch --all\``,
  )
  expect(await worktrees.list()).toEqual([])
})

test('a worktree whose folder or .git is gone is not taken for the repository around it', async () => {
  // The user's data folder is in a repository, as in a HOME with dotfiles.
  const home = initRepository(path.join(folder, 'home'))
  home.write('dotfile', 'private\n')
  home.run('add', '.')
  home.run('commit', '-qm', 'dotfiles')
  const { worktree } = await worktrees.make({ projectRoot: here.root, title: 'Fix it' })
  await worktrees.requireOwn(worktree.id)
  rmSync(path.join(worktree.folder, '.git'))
  await expect(worktrees.requireOwn(worktree.id)).rejects.toThrow(/does not belong to/)
  rmSync(worktree.folder, { recursive: true })
  await expect(worktrees.requireOwn(worktree.id)).rejects.toThrow(/chirality worktrees restore/)
})
