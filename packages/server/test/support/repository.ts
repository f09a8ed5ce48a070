import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { onTestFinished } from 'vitest'

/** A repository of its own. Gone when the test is. */
export function createRepository(): Repository {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-git-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  return initRepository(root)
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
