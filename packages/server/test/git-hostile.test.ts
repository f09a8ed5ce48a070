import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { toCallError } from '@chirality/centre'
import { initRepository, type Repository } from '@chirality/fixtures'
import { gitStatus, TurnChanges } from '@chirality/workspaces'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createCommitted } from './support/repository.ts'

/** A file that is there only if somebody ran something. */
function createCanary(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'chirality-canary-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return path.join(folder, 'sang')
}

/** A program that leaves the canary, and then does what a filter does. */
function writeEvil({ root }: Repository, canary: string): string {
  const script = path.join(root, '.git', 'evil.sh')
  writeFileSync(script, `#!/bin/sh\ntouch ${canary}; cat\n`)
  chmodSync(script, 0o755)
  return script
}

test('a hostile repository gets nothing to run', async () => {
  const repository = createCommitted()
  const canary = createCanary()
  const command = `touch ${canary}; cat`
  const script = writeEvil(repository, canary)
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

test('a repository inside the repository gets nothing to run either', async () => {
  const outer = createCommitted()
  const canary = createCanary()
  for (const folder of ['inner', 'deep/er/inner']) {
    const inner = initRepository(path.join(outer.root, folder))
    inner.write('file.txt', 'one\n')
    inner.run('add', '.')
    inner.run('commit', '-qm', 'inner')
  }
  outer.run('-c', 'advice.addEmbeddedRepo=false', 'add', '.')
  outer.run('commit', '-qm', 'with inner ones')
  outer.run('config', 'diff.ignoreSubmodules', 'none')
  for (const folder of ['inner', 'deep/er/inner']) {
    const inner = initRepository(path.join(outer.root, folder))
    const script = writeEvil(inner, canary)
    inner.run('config', 'core.fsmonitor', script)
    inner.run('config', 'filter.evil.clean', script)
    writeFileSync(path.join(inner.root, '.git', 'info', 'attributes'), '* filter=evil\n')
    inner.write('file.txt', 'two\n')
  }
  outer.write('kept.txt', 'one\n2\n')
  rmSync(canary, { force: true })
  const status = await gitStatus(outer.root)
  const changes = await new TurnChanges().workingTree(outer.root)
  expect(status?.files.map(file => file.path)).toEqual(['kept.txt'])
  expect(changes?.files.map(file => file.path)).toEqual(['kept.txt'])
  expect(existsSync(canary)).toBe(false)
})

test('a filter of the user runs, and not what the repository would have it run', async () => {
  const repository = createCommitted()
  const canary = createCanary()
  const home = path.dirname(canary)
  // As `git lfs clean` does: it asks git for the extensions, and runs them.
  const filter = path.join(home, 'filter.sh')
  writeFileSync(filter, '#!/bin/sh\neval "$(git config lfs.extension.x.clean)"; tr a-z A-Z\n', {
    mode: 0o755,
  })
  writeFileSync(path.join(home, '.gitconfig'), `[filter "lfs"]\n\tclean = ${filter}\n\trequired = true\n`)
  vi.stubEnv('HOME', home)
  onTestFinished(() => void vi.unstubAllEnvs())
  repository.run('config', 'lfs.extension.x.clean', `touch ${canary}`)
  repository.write('.gitattributes', '*.big filter=lfs\n')
  repository.write('a.big', 'large\n')
  const changes = await new TurnChanges().workingTree(repository.root)
  expect(changes?.patch).toContain('+LARGE\n')
  expect(existsSync(canary)).toBe(false)
})

test('files elsewhere that its config names are not read', async () => {
  const repository = createCommitted()
  const elsewhere = path.join(repository.root, '.git', 'elsewhere')
  writeFileSync(elsewhere, '*\n* -diff\n')
  for (const name of ['core.attributesFile', 'core.excludesFile']) repository.run('config', name, elsewhere)
  repository.run('config', 'diff.orderFile', path.join(repository.root, 'no-such-file'))
  repository.write('new.txt', 'new\n')
  expect((await gitStatus(repository.root))?.files).toMatchObject([{ path: 'new.txt' }])
  expect((await new TurnChanges().workingTree(repository.root))?.patch).toContain('+new\n')
})

test('nothing is written through a link that came with it', async () => {
  const repository = createCommitted()
  const elsewhere = path.dirname(createCanary())
  const link = path.join(repository.root, '.chirality', 'state', 'snapshots', 'objects')
  mkdirSync(path.dirname(link), { recursive: true, mode: 0o700 })
  symlinkSync(elsewhere, link)
  repository.write('new.txt', 'new\n')
  const error = await new TurnChanges().workingTree(repository.root).catch(toCallError)
  expect(error).toMatchObject({ code: 'unsafe' })
  expect(readdirSync(elsewhere)).toEqual([])
})
