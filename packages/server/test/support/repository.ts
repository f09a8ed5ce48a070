import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { checkAnswers } from '@chirality/centre'
import { initRepository, type Repository } from '@chirality/fixtures'
import { onTestFinished } from 'vitest'
import type { ServerOptions } from '../../src/index.ts'
import { startTestServer } from './test-server.ts'
import { connect } from './trpc-client.ts'

/** A repository of its own. Gone when the test is. */
export function createRepository(): Repository {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-git-')))
  // A snapshot that nobody waits for any more may still be writing.
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
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

/** A server whose project is a repository with one commit on main. */
export async function withRepository(options: Partial<ServerOptions> = {}) {
  checkAnswers()
  const server = await startTestServer(options)
  const repository = initRepository(server.project)
  repository.write('a.txt', 'a\n')
  repository.run('add', 'a.txt')
  repository.run('commit', '-qm', 'first')
  repository.run('branch', '-M', 'main')
  return { server, repository, project: server.project, ...connect(server) }
}
