import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { expect, onTestFinished, test } from 'vitest'
import { Worktrees } from '../src/worktrees/worktrees.ts'
import { KILLS, killOften } from './support/kill-often.ts'

test(`after ${KILLS} kills at random moments no work is lost and no half of a worktree is left`, {
  timeout: KILLS * 60_000,
}, async () => {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-kills-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const repository = initRepository(path.join(root, 'shop'))
  for (let i = 0; i < 40; i += 1) repository.write(`src/${i}.txt`, `${i}\n`.repeat(100))
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  repository.write('src/0.txt', "a person's own change\n")
  const folder = path.join(root, 'worktrees')
  const journal = path.join(root, 'journal')

  await killOften({
    program: 'busy-worktrees.ts',
    args: [folder, repository.root, journal],
    folder: root,
    withinMs: 1500,
  })
  const worktrees = new Worktrees(folder)
  expect(await worktrees.recover()).toEqual([])

  const listed = await worktrees.list()
  expect(listed.map(({ state }) => state).filter(state => state !== 'ready' && state !== 'removed')).toEqual(
    [],
  )
  const names = listed.flatMap(({ id, state }) => (state === 'ready' ? [id, `${id}.json`] : [`${id}.json`]))
  // There is none if every kill came before the first worktree.
  const kept = existsSync(folder) ? readdirSync(folder) : []
  expect(kept.filter(name => !name.includes('.tmp-')).sort()).toEqual(names.sort())
  const branches = repository
    .run('for-each-ref', '--format=%(refname:short)', 'refs/heads/chirality')
    .split('\n')
  const ready = listed.filter(({ state }) => state === 'ready')
  expect(branches.filter(Boolean).sort()).toEqual(ready.map(({ branch }) => branch).sort())

  for (const line of existsSync(journal) ? readFileSync(journal, 'utf8').trim().split('\n') : []) {
    const { id, text } = JSON.parse(line) as { id: string; text: string }
    const worktree = listed.find(entry => entry.id === id)
    const found =
      worktree?.state === 'ready'
        ? readFileSync(path.join(worktree.folder, 'work.txt'), 'utf8')
        : repository.run('show', `refs/chirality/kept/${id}/work:work.txt`)
    expect(found).toBe(text)
  }
  expect(readFileSync(path.join(repository.root, 'src/0.txt'), 'utf8')).toBe("a person's own change\n")
  expect(repository.run('fsck', '--no-dangling')).toBe('')
  expect(lockFiles(path.join(repository.root, '.git'))).toEqual([])
})

function lockFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.lock'))
}
