import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { expect, onTestFinished, test } from 'vitest'
import { FileMoves, findRepository, Worktrees } from '../src/index.ts'
import { KILLS, killOften } from './support/kill-often.ts'

test(`after ${KILLS} kills during discards, undos, commits and merges nothing is lost and nothing is half done`, {
  timeout: KILLS * 120_000,
}, async () => {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-review-kills-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const repository = initRepository(path.join(root, 'shop'))
  repository.run('config', 'user.name', 'A User')
  repository.run('config', 'user.email', 'user@example')
  for (let i = 0; i < 12; i += 1) repository.write(`src/${i}.txt`, `${i}\n`)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  repository.write('mine.txt', "a person's own file\n")
  const { worktree } = await new Worktrees(path.join(root, 'worktrees')).make({
    projectRoot: repository.root,
    title: 'kill me',
  })
  const stateFolder = path.join(root, 'state')
  mkdirSync(stateFolder)
  const journal = path.join(root, 'journal')
  const args = [worktree.folder, stateFolder, journal, worktree.branch]
  await killOften({ program: 'busy-review.ts', args, folder: root, withinMs: 3000 })
  const opened = await findRepository(worktree.folder)
  if (opened === undefined) throw new Error('no repository')
  const moves = new FileMoves(opened, 'session')
  expect(await moves.recover()).toEqual([])

  const contents = Array.from({ length: 12 }, (_, i) =>
    readFileSync(path.join(worktree.folder, `src/${i}.txt`), 'utf8')
      .split('\n')
      .slice(0, -2),
  )
  const marks = existsSync(journal) ? readFileSync(journal, 'utf8').trim().split('\n').filter(Boolean) : []
  const kept = (await moves.list()).flatMap(({ id, state }) => {
    const ref = `refs/chirality/${state === 'done' ? 'moves' : 'unmoved'}/session/${id}`
    return [`${ref}^:src/0.txt`, `${ref}:src/0.txt`].map(name => repository.run('show', name))
  })
  const everything = [...(contents[0] ?? []), ...kept].join('\n')
  expect(marks.filter(mark => !everything.includes(mark))).toEqual([])
  // Each file is as the others: a killed move was finished for all of them.
  const complete = contents.map(lines => lines.filter(line => marks.includes(line)).join(','))
  expect(new Set(complete).size).toBe(1)
  const left = readdirSync(path.join(worktree.folder, 'src')).filter(name =>
    name.includes('chirality-moving'),
  )
  expect(left).toEqual([])
  expect(repository.run('for-each-ref', 'refs/chirality/moving')).toBe('')
  expect(readFileSync(path.join(repository.root, 'mine.txt'), 'utf8')).toBe("a person's own file\n")
  expect(repository.run('status', '--porcelain')).toBe('?? mine.txt\n')
  expect(repository.run('fsck', '--no-dangling')).toBe('')
  const locks = readdirSync(path.join(repository.root, '.git'), { recursive: true, encoding: 'utf8' })
  expect(locks.filter(name => name.endsWith('.lock'))).toEqual([])
})

test(`after ${KILLS} kills while many files go back or come again, all of them did, and nothing half is left`, {
  timeout: KILLS * 120_000,
}, async () => {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-back-kills-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const repository = initRepository(path.join(root, 'shop'))
  const names = Array.from({ length: 300 }, (_, i) => `src/${i}.txt`)
  for (const name of names) repository.write(name, '0\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  const stateFolder = path.join(root, 'state')
  mkdirSync(stateFolder)
  const state = path.join(root, 'writing')
  const args = [repository.root, stateFolder, String(names.length), state]
  await killOften({ program: 'busy-back.ts', args, folder: root, withinMs: 5000 })
  const opened = await findRepository(repository.root)
  if (opened === undefined) throw new Error('no repository')
  const moves = new FileMoves(opened, 'session')
  expect(await moves.recover()).toEqual([])
  // Each move was of all files: it was finished for all of them, or not begun. The program looks after each kill.
  const contents = names.map(name => readFileSync(path.join(repository.root, name), 'utf8'))
  if (readFileSync(state, 'utf8') === 'written') expect(new Set(contents).size).toBe(1)
  for (const { files } of await moves.list()) expect(files).toHaveLength(names.length)
  const left = readdirSync(path.join(repository.root, 'src')).filter(name =>
    name.includes('chirality-moving'),
  )
  expect(left).toEqual([])
  expect(repository.run('for-each-ref', 'refs/chirality/moving')).toBe('')
  expect(repository.run('fsck', '--no-dangling')).toBe('')
})
