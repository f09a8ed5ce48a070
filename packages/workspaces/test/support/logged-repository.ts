import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { onTestFinished } from 'vitest'
import { diffWorkTree, findRepository, type GitRepository, takeSnapshot } from '../../src/index.ts'

export function commit(repository: Repository): void {
  repository.run('add', '--all')
  repository.run('commit', '-qm', 'a commit')
}

/** A repository whose git writes down what Chirality asks it for. `init` are options of `git init`. */
export function loggedRepository(...init: string[]) {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-edited-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const root = path.join(folder, 'repository')
  if (init.length > 0) execFileSync('git', ['init', '-q', '-b', 'main', ...init, root])
  const repository = initRepository(root)
  const [state, programs, logged] = ['state', 'programs', 'log'].map(name => path.join(folder, name)) as [
    string,
    string,
    string,
  ]
  mkdirSync(state)
  mkdirSync(programs)
  const own = process.env.PATH ?? ''
  writeFileSync(
    path.join(programs, 'git'),
    `#!/bin/sh\necho "$*" >> '${logged}'\nPATH='${own}' exec git "$@"\n`,
  )
  chmodSync(path.join(programs, 'git'), 0o755)
  const open = async (): Promise<GitRepository> => {
    const found = await findRepository(root)
    if (found === undefined) throw new Error('no repository')
    return { ...found, env: { ...found.env, PATH: `${programs}:${own}` } }
  }
  return {
    repository,
    at: (file: string) => path.join(root, file),
    log: () => readFileSync(logged, 'utf8'),
    state,
    forgetLog: () => rmSync(logged, { force: true }),
    open,
    snapshot: async () => (await takeSnapshot(await open(), state)).tree,
    diff: async () => diffWorkTree(await open(), state),
    /** The tree that git makes with an index. */
    plain: () => {
      const env = { ...process.env, GIT_INDEX_FILE: path.join(folder, 'plain-index') }
      const run = (...args: string[]) =>
        execFileSync('git', args, { cwd: root, env, encoding: 'utf8', stdio: 'pipe' }).trim()
      rmSync(env.GIT_INDEX_FILE, { force: true })
      run('read-tree', 'HEAD')
      // A sparse checkout stays one.
      if (repository.run('config', '--default', 'false', '--get', 'core.sparseCheckout').trim() === 'true')
        run('read-tree', '-m', 'HEAD')
      run('add', '--all')
      return run('write-tree')
    },
  }
}
