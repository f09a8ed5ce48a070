import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'

export interface Repository {
  root: string
  run(...args: string[]): string
  write(file: string, text: string): void
}

/** A repository of its own. Gone when the test is. */
export function createRepository(): Repository {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-git-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  return initRepository(root)
}

export function initRepository(root: string): Repository {
  mkdirSync(root, { recursive: true })
  const env = {
    ...{ PATH: process.env.PATH, HOME: root, GIT_CONFIG_NOSYSTEM: '1' },
    ...{
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@example',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@example',
    },
  }
  const repository: Repository = {
    root,
    run: (...args: string[]) => execFileSync('git', args, { cwd: root, env, encoding: 'utf8' }),
    write: (file: string, text: string) => {
      mkdirSync(path.dirname(path.join(root, file)), { recursive: true })
      writeFileSync(path.join(root, file), text)
    },
  }
  repository.run('init', '-q', '-b', 'main')
  return repository
}

export function createCommitted(): Repository {
  const repository = createRepository()
  repository.write('kept.txt', 'one\ntwo\n')
  repository.write('gone.txt', 'gone\n')
  repository.write('old name.txt', 'a\nb\nc\nd\ne\nf\n')
  repository.write('.gitignore', 'ignored\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  return repository
}
