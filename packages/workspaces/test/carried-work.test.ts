import { readFileSync } from 'node:fs'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, expect, test } from 'vitest'
import { packWork, repositoryMark } from '../src/worktrees/carried-work.ts'
import type { Worktrees } from '../src/worktrees/worktrees.ts'
import { useTwoClones } from './support/two-clones.ts'

let folder: string
let here: Repository
let there: string
let worktrees: Worktrees

const clones = useTwoClones({ 'a.txt': 'one\n', '.gitignore': '.env\n' })
beforeEach(() => {
  ;({ folder, here, there, worktrees } = clones())
})

const bundle = () => clones().bundle

async function pack() {
  const mark = await repositoryMark(there)
  return packWork({ folder: here.root, haves: mark?.commits ?? [], bundle: bundle(), id: 'move-1' })
}

const receive = (work: Awaited<ReturnType<typeof pack>>) =>
  worktrees.receive({ projectRoot: there, title: 'Fix it', id: 'move-1', work, bundle: bundle() })

test('two clones of one repository are known by its first commit, and another repository is not', async () => {
  const other = initRepository(path.join(folder, 'other'))
  other.write('x', 'x')
  other.run('add', '.')
  other.run('commit', '-qm', 'other')
  const [ours, clone, foreign] = await Promise.all([here.root, there, other.root].map(repositoryMark))
  expect(clone?.roots).toEqual(ours?.roots)
  expect(foreign?.roots).not.toEqual(ours?.roots)
  expect(await repositoryMark(folder)).toBeUndefined()
})

test('commits, staged, changed and new files arrive as they were, and nothing else does', async () => {
  here.write('a.txt', 'one\ntwo\n')
  here.run('commit', '-qam', 'second')
  here.write('staged.txt', 'staged\n')
  here.run('add', 'staged.txt')
  here.write('a.txt', 'one\ntwo\nthree\n')
  here.write('new.txt', 'new\n')
  here.write('.env', 'SECRET=1\n')
  const before = here.run('status', '--porcelain')
  const work = await pack()
  expect(work).toMatchObject({ hasBundle: true, files: 3, baseBranch: 'main' })
  expect(here.run('status', '--porcelain')).toBe(before)
  expect(here.run('for-each-ref', 'refs/chirality')).toBe('')

  const made = await receive(work)
  expect(made).toMatchObject({ state: 'ready', branch: 'chirality/fix-it', baseBranch: 'main' })
  expect(here.run('-C', made.folder, 'status', '--porcelain')).toBe(before)
  expect(here.run('-C', made.folder, 'log', '--format=%s')).toBe('second\nfirst\n')
  expect(readFileSync(path.join(made.folder, 'new.txt'), 'utf8')).toBe('new\n')
  expect(() => readFileSync(path.join(made.folder, '.env'))).toThrow()
  expect(here.run('-C', there, 'status', '--porcelain')).toBe('')
  // After an answer that was lost it is asked for again.
  expect(await receive(work)).toEqual(made)
})

test('a clone that has everything gets no bundle', async () => {
  const work = await pack()
  expect(work).toMatchObject({ hasBundle: false, files: 0 })
  expect(await receive(work)).toMatchObject({ state: 'ready', base: work.head })
})

test('a bundle whose commits the clone cannot use is refused, and leaves nothing', async () => {
  here.write('a.txt', 'two\n')
  const work = await pack()
  await expect(receive({ ...work, work: work.head.replace(/./g, '1') })).rejects.toMatchObject({
    code: 'worktree-refused',
  })
  expect(await worktrees.list()).toEqual([])
  expect(here.run('-C', there, 'for-each-ref', 'refs/chirality')).toBe('')
})
