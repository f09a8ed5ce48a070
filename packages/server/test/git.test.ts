import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { gitStatus, parseStatus } from '../src/files/git-status.ts'
import { TurnChanges } from '../src/files/turn-changes.ts'

interface Repository {
  root: string
  run(...args: string[]): string
  write(file: string, text: string): void
}

function createRepository(): Repository {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-git-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const env = {
    ...{ PATH: process.env.PATH, HOME: root, GIT_CONFIG_NOSYSTEM: '1' },
    ...{
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@example',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@example',
    },
  }
  const repository = {
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

function createCommitted(): Repository {
  const repository = createRepository()
  repository.write('kept.txt', 'one\ntwo\n')
  repository.write('gone.txt', 'gone\n')
  repository.write('old name.txt', 'a\nb\nc\nd\ne\nf\n')
  repository.write('.gitignore', 'ignored\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  return repository
}

test('status tells of every kind of change', async () => {
  const repository = createCommitted()
  repository.write('kept.txt', 'one\n2\n')
  rmSync(path.join(repository.root, 'gone.txt'))
  repository.run('mv', 'old name.txt', 'new name.txt')
  repository.write('new.txt', 'new\n')
  repository.write('ignored', 'x')
  const status = await gitStatus(repository.root)
  expect(status).toMatchObject({
    branch: 'main',
    ahead: 0,
    behind: 0,
    commit: expect.stringMatching(/^[0-9a-f]{40}$/),
  })
  expect(status?.files.sort((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
    { path: 'gone.txt', index: '.', worktree: 'D' },
    { path: 'kept.txt', index: '.', worktree: 'M' },
    { path: 'new name.txt', index: 'R', worktree: '.', renamedFrom: 'old name.txt' },
    { path: 'new.txt', index: '?', worktree: '?' },
  ])
})

test('a project below the top of a repository sees its own part', async () => {
  const repository = createCommitted()
  repository.write('part/of/it.txt', 'x\n')
  repository.write('elsewhere.txt', 'x\n')
  const part = path.join(repository.root, 'part')
  expect((await gitStatus(part))?.files.map(file => file.path)).toEqual(['of/it.txt'])
  const changes = await new TurnChanges().workingTree(part)
  expect(changes?.files.map(file => file.path)).toEqual(['of/it.txt'])
})

test('before the first commit, and without git', async () => {
  const repository = createRepository()
  repository.write('first.txt', 'x\n')
  expect(await gitStatus(repository.root)).toMatchObject({
    branch: 'main',
    commit: null,
    files: [{ path: 'first.txt' }],
  })
  const changes = await new TurnChanges().workingTree(repository.root)
  expect(changes?.files).toEqual([{ path: 'first.txt', kind: 'added', added: 1, removed: 0 }])
  rmSync(path.join(repository.root, '.git'), { recursive: true })
  expect(await gitStatus(repository.root)).toBeNull()
  expect(await new TurnChanges().workingTree(repository.root)).toBeNull()
})

test('unmerged files and odd names are read', () => {
  const lines = [
    '# branch.oid (initial)',
    '# branch.head (detached)',
    '# branch.ab +2 -1',
    'u UU N... 100644 100644 100644 100644 a b c both changed.txt',
    '? with\nnewline',
  ]
  expect(parseStatus(`${lines.join('\0')}\0`)).toEqual({
    ...{ branch: null, commit: null, ahead: 2, behind: 1 },
    files: [
      { path: 'both changed.txt', index: 'U', worktree: 'U' },
      { path: 'with\nnewline', index: '?', worktree: '?' },
    ],
  })
})

test('the diff has everything since the commit, and leaves the repository as it is', async () => {
  const repository = createCommitted()
  repository.write('kept.txt', 'one\n2\nthree\n')
  rmSync(path.join(repository.root, 'gone.txt'))
  repository.write('new.txt', 'new\n')
  repository.write('bin.dat', 'a\0b')
  const git = path.join(repository.root, '.git')
  const before = [readFileSync(path.join(git, 'index')), repository.run('for-each-ref'), objects(git)]
  const changes = await new TurnChanges().workingTree(repository.root)
  expect(changes?.files).toEqual([
    { path: 'bin.dat', kind: 'added', added: null, removed: null },
    { path: 'gone.txt', kind: 'deleted', added: 0, removed: 1 },
    { path: 'kept.txt', kind: 'changed', added: 2, removed: 1 },
    { path: 'new.txt', kind: 'added', added: 1, removed: 0 },
  ])
  expect(changes?.patch).toContain(
    '--- a/kept.txt\n+++ b/kept.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n',
  )
  expect([readFileSync(path.join(git, 'index')), repository.run('for-each-ref'), objects(git)]).toEqual(
    before,
  )
})

function objects(git: string): string[] {
  return readdirSync(path.join(git, 'objects'), { recursive: true }).map(String).sort()
}

test('a hostile repository gets nothing to run', async () => {
  const repository = createCommitted()
  const canary = path.join(repository.root, '..', `${path.basename(repository.root)}-canary`)
  onTestFinished(() => rmSync(canary, { force: true }))
  const command = `touch ${canary}; cat`
  const script = path.join(repository.root, '.git', 'evil.sh')
  writeFileSync(script, `#!/bin/sh\n${command}\n`)
  chmodSync(script, 0o755)
  for (const hook of ['post-index-change', 'pre-commit', 'post-checkout', 'reference-transaction']) {
    mkdirSync(path.join(repository.root, '.git', 'hooks'), { recursive: true })
    writeFileSync(path.join(repository.root, '.git', 'hooks', hook), `#!/bin/sh\ntouch ${canary}\n`, {
      mode: 0o755,
    })
  }
  const config: Record<string, string> = {
    'core.fsmonitor': script,
    'core.pager': command,
    'core.sshCommand': command,
    'core.hooksPath': path.join(repository.root, '.git', 'hooks'),
    'core.worktree': '/',
    'diff.external': script,
    'diff.evil.command': script,
    'diff.evil.textconv': script,
    'filter.evil.clean': command,
    'filter.evil.smudge': command,
    'filter.evil.process': script,
    'filter.evil.required': 'true',
    'filter.a=b.clean': command,
    'credential.helper': `!${command}`,
    'extensions.partialClone': 'origin',
    'remote.origin.url': `ext::sh -c "touch ${canary}"`,
    'remote.origin.promisor': 'true',
    'protocol.ext.allow': 'always',
    'alias.status': `!${command}`,
  }
  for (const [name, value] of Object.entries(config)) repository.run('config', name, value)
  writeFileSync(
    path.join(repository.root, '.git', 'info', 'attributes'),
    '* filter=evil diff=evil\nnew.txt filter=a=b\n',
  )
  repository.write('.gitattributes', '*.txt filter=evil diff=evil\n')
  repository.write('kept.txt', 'one\n2\n')
  repository.write('new.txt', 'new\n')
  rmSync(canary, { force: true })
  const status = await gitStatus(repository.root)
  const changes = await new TurnChanges().workingTree(repository.root)
  expect(status?.files.map(file => file.path)).toContain('kept.txt')
  expect(changes?.patch).toContain('+2\n')
  expect(existsSync(canary)).toBe(false)
})

test('a folder above that only looks like a repository is none', async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-git-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(path.join(folder, '.git'))
  mkdirSync(path.join(folder, 'project'))
  expect(await gitStatus(path.join(folder, 'project'))).toBeNull()
})
