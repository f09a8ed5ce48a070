import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { budgetKey, normalRemote, repositoryKey } from './repository-key.ts'

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'repository-key-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each([
  ['https://someone:secret@Example.com/team/shop.git', 'example.com/team/shop'],
  ['https://example.com:8443/team/shop/', 'example.com/team/shop'],
  ['ssh://git@example.com:22/team/shop.git', 'example.com/team/shop'],
  ['git@example.com:team/shop.git', 'example.com/team/shop'],
  ['example.com:team/shop', 'example.com/team/shop'],
  ['/srv/git/shop.git', undefined],
  ['../shop', undefined],
  ['file:///srv/git/shop.git', undefined],
])('the remote %s has one name on every machine, without its login', (url, name) => {
  expect(normalRemote(url)).toBe(name)
})

test('the budget of a project has the name of its remote, also in a folder of the repository and in a worktree', async () => {
  const shop = repository('shop', 'git@example.com:team/shop.git')
  const api = join(shop, 'services', 'api')
  mkdirSync(api, { recursive: true })
  const name = 'example.com/team/shop'
  expect(await budgetKey(shop)).toBe(name)
  expect(await budgetKey(api)).toBe(`${name}#services/api`)
  git(shop, 'commit', '-q', '--allow-empty', '-m', 'first')
  const worktree = join(folder, 'worktree')
  git(shop, 'worktree', 'add', '-q', worktree)
  mkdirSync(join(worktree, 'services'))
  expect(await budgetKey(worktree)).toBe(name)
  expect(await budgetKey(join(worktree, 'services'))).toBe(`${name}#services`)
})

test.each([
  ['none', undefined],
  ['a folder of this machine', '/srv/git/app.git'],
  ['one of more than 1,000 characters', `https://example.com/${'x'.repeat(1000)}`],
])('without a remote that other machines have, a budget is of this machine alone: %s', async (what, url) => {
  const app = repository(join(what, 'app'), url)
  expect(await budgetKey(app)).toBeUndefined()
  expect(await repositoryKey(app)).toBe('app')
})

test('a folder in no repository, or with damaged files of git, has no budget elsewhere', async () => {
  const plain = join(folder, 'plain')
  mkdirSync(plain)
  expect(await budgetKey(plain)).toBeUndefined()
  writeFileSync(join(plain, '.git'), 'junk')
  expect(await budgetKey(plain)).toBeUndefined()
  writeFileSync(join(plain, '.git'), 'gitdir: ../nowhere\n')
  expect(await budgetKey(plain)).toBeUndefined()
  expect(await budgetKey(join(folder, 'missing'))).toBeUndefined()
})

function repository(name: string, url: string | undefined): string {
  const made = join(folder, name)
  mkdirSync(made, { recursive: true })
  git(made, 'init', '-q')
  if (url !== undefined) git(made, 'remote', 'add', 'origin', url)
  return made
}

function git(cwd: string, ...args: string[]): void {
  const as = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']
  execFileSync('git', [...as, ...args], { cwd })
}
