import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { expect, onTestFinished, test } from 'vitest'
import { diffTrees, findRepository, takeSnapshot, trimSnapshots } from '../src/index.ts'

test('a snapshot with a kept index is the tree that git makes of all files, through every kind of change', async () => {
  const { repository, snapshot, plain } = create()
  const at = (file: string) => path.join(repository.root, file)
  const steps: [string, () => void][] = [
    ['nothing committed', () => repository.write('first.txt', '1\n')],
    [
      'a commit',
      () => {
        for (const name of ['a', 'b', 'c', 'dir/d', 'dir/e', 'run']) repository.write(name, `${name}\n`)
        repository.write('.gitignore', 'ignored\n')
        repository.run('add', '.')
        repository.run('commit', '-qm', 'first')
      },
    ],
    ['clean', () => {}],
    ['changed with the same size, at once', () => repository.write('a', 'A\n')],
    [
      'deleted, new, and a mode',
      () => {
        rmSync(at('b'))
        repository.write('new/file', 'x\n')
        chmodSync(at('run'), 0o755)
      },
    ],
    [
      'a file becomes a folder, a folder a link',
      () => {
        rmSync(at('c'))
        repository.write('c/inside', 'x\n')
        rmSync(at('dir'), { recursive: true })
        symlinkSync('a', at('dir'))
      },
    ],
    ['new files are ignored from now on', () => repository.write('.gitignore', 'ignored\nnew\n')],
    ['staged', () => repository.run('add', '--all')],
    ['committed', () => repository.run('commit', '-qm', 'second')],
    ['back to the first commit', () => repository.run('checkout', '-q', 'HEAD~1')],
    [
      'git was told not to look at a file',
      () => {
        repository.run('checkout', '-q', 'main')
        repository.run('update-index', '--assume-unchanged', 'a')
        repository.write('a', 'unseen\n')
      },
    ],
    [
      'a repository inside, and a file with a newline in its name',
      () => {
        initRepository(at('inner')).run('commit', '-q', '--allow-empty', '-m', 'inner')
        repository.write('two\nlines', 'x\n')
      },
    ],
  ]
  for (const [what, step] of steps) {
    step()
    expect([what, await snapshot()]).toEqual([what, plain()])
  }
})

test('a new snapshot folder learns the files from the index of the user, but not which to pass over', async () => {
  const { repository, snapshot, plain } = create()
  for (const name of ['a', 'b', 'c']) repository.write(name, `${name}\n`)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  repository.run('update-index', '--assume-unchanged', 'a')
  repository.run('update-index', '--skip-worktree', 'b')
  for (const name of ['a', 'b']) repository.write(name, `other ${name}\n`)
  expect(await snapshot()).toBe(plain())
})

test('a sparse checkout has no deleted files, and one with a file that cannot be read has the others', async () => {
  const { repository, snapshot } = create()
  for (const name of ['in/a', 'out/b']) repository.write(name, `${name}\n`)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  repository.run('sparse-checkout', 'set', 'in')
  expect(await snapshot()).toBe(repository.run('rev-parse', 'HEAD^{tree}').trim())
  // Without a commit, git cannot take it as a part of this repository.
  mkdirSync(path.join(repository.root, 'in/empty'))
  initRepository(path.join(repository.root, 'in/empty'))
  repository.write('in/a', 'changed\n')
  expect(await snapshot()).not.toBe(repository.run('rev-parse', 'HEAD^{tree}').trim())
})

test('files that did not change since the last snapshot give its tree again, and any change gives another', async () => {
  const { repository, snapshot, plain, state, otherGit } = create()
  repository.write('a', 'a\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  const file = path.join(repository.root, 'a')
  const time = new Date(1_700_000_000_123)
  const write = (text: string) => {
    writeFileSync(file, text)
    utimesSync(file, time, time)
  }
  for (const text of ['b\n', 'c\n', 'd\n']) {
    // The same size and the same time of change: only the time that nobody can choose tells.
    write(text)
    expect(await snapshot()).toBe(plain())
    expect(await snapshot()).toBe(plain())
  }
  await settled(file)
  const kept = await snapshot()
  // From what is known of it: nothing is read and written again.
  const noTree = otherGit('case " $* " in *" hash-object "*|*" write-tree "*) exit 1;; esac')
  expect(await snapshot(repository.root, noTree)).toBe(kept)
  repository.write('b', 'b\n')
  await expect(snapshot(repository.root, noTree)).rejects.toMatchObject({ code: 'git-failed' })
  rmSync(path.join(repository.root, 'b'))
  write('e\n')
  expect(await snapshot()).toBe(plain())
  // Trimmed by another process: the tree that is known is gone.
  write('f\n')
  await settled(file)
  const tree = await snapshot()
  rmSync(path.join(state, 'objects'), { recursive: true })
  expect(await snapshot()).toBe(tree)
  expect(readdirSync(path.join(state, 'objects'))).toContain(tree.slice(0, 2))
  repository.write('.gitignore', 'new\n')
  repository.write('new', 'x\n')
  expect(await snapshot()).toBe(plain())
})

/** Until the next change of the file has another time for sure. */
async function settled(file: string): Promise<void> {
  const { ctimeMs } = statSync(file)
  // A time in whole seconds may be of a file system that knows no other.
  const ageMs = ctimeMs % 1000 === 0 ? 2600 : 150
  await expect.poll(() => Date.now() - ctimeMs, { timeout: 10_000 }).toBeGreaterThan(ageMs)
}

test('a difference of odd names, kinds and sizes: each file with its counts, and no patch above 4 MiB', async () => {
  const { repository, snapshot, state, otherGit } = create()
  const numbers = Array.from({ length: 40 }, (_, i) => `${i}\n`).join('')
  for (const name of ['changed "x"\n', 'old name', 'gone', 'mode'])
    repository.write(name, `${name}\n${numbers}`)
  repository.write('binary', 'a\0b')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  const from = await snapshot()
  repository.write('changed "x"\n', `other\n${numbers}`)
  repository.write('binary', 'a\0c')
  chmodSync(path.join(repository.root, 'mode'), 0o755)
  rmSync(path.join(repository.root, 'gone'))
  repository.run('mv', 'old name', ':new name')
  repository.write('empty', '')
  const found = await findRepository(repository.root)
  if (found === undefined) throw new Error('no repository')
  const diff = async () => diffTrees(found, { from, to: await snapshot(), stateFolder: state })
  const small = await diff()
  const files = [
    { path: ':new name', kind: 'renamed', added: 0, removed: 0, renamedFrom: 'old name' },
    { path: 'binary', kind: 'changed', added: null, removed: null },
    // Its name is a line of its own.
    { path: 'changed "x"\n', kind: 'changed', added: 1, removed: 2 },
    { path: 'empty', kind: 'added', added: 0, removed: 0 },
    { path: 'gone', kind: 'deleted', added: 0, removed: 41 },
    { path: 'mode', kind: 'changed', added: 0, removed: 0 },
  ]
  const byPath = <T extends { path: string }>(list: readonly T[]) =>
    list.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  expect(byPath(small.files)).toEqual(byPath(files))
  expect(small.truncated).toBe(false)
  expect(small.patch.startsWith('diff --git ')).toBe(true)
  expect(small.patch).toContain('+other\n')
  expect(await diffTrees(found, { from, to: from, stateFolder: state })).toEqual({
    files: [],
    patch: '',
    truncated: false,
  })

  // The patch takes too long: the files are still told.
  const noPatch = otherGit('case " $* " in *" --patch "*) kill -9 $$;; esac')
  const cut = await diffTrees(
    { ...found, env: { ...found.env, ...noPatch } },
    { from, to: await snapshot(), stateFolder: state },
  )
  expect(cut).toEqual({ files: small.files, patch: '', truncated: true })

  // More than the patch may have, and more than is read at all.
  for (const megabytes of [5, 20]) {
    repository.write('mode', `${'x'.repeat(63)}\n`.repeat(megabytes * 16384))
    const large = await diff()
    expect(large).toMatchObject({ patch: '', truncated: true })
    const counted = { path: 'mode', kind: 'changed', added: megabytes * 16384, removed: 41 }
    expect(byPath(large.files)).toEqual(byPath([...files.slice(0, -1), counted]))
  }
})

test('the indexes of work trees that are gone are removed', async () => {
  const { repository, snapshot, state } = create()
  repository.write('a', 'a\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  const other = path.join(repository.root, '..', 'other')
  repository.run('worktree', 'add', '-q', other)
  await snapshot(other)
  await snapshot()
  expect(readdirSync(path.join(state, 'indexes'))).toHaveLength(2)
  rmSync(other, { recursive: true })
  repository.run('commit', '-q', '--allow-empty', '-m', 'second')
  repository.write('a', 'b\n')
  repository.run('commit', '-qam', 'third')
  await snapshot()
  const [left = ''] = readdirSync(path.join(state, 'indexes'))
  expect(readdirSync(path.join(state, 'indexes'))).toHaveLength(1)
  expect(readdirSync(path.join(state, 'indexes', left)).filter(name => name.endsWith('.index'))).toHaveLength(
    1,
  )
  expect(readdirSync(state).filter(name => name.startsWith('index-'))).toEqual([])
})

test('the index of a snapshot whose process was killed is removed, one that is being made is not', async () => {
  const { repository, state } = create()
  const found = await findRepository(repository.root)
  if (found === undefined) throw new Error('no repository')
  for (const name of ['index-killed', 'index-now', 'indexes']) mkdirSync(path.join(state, name))
  writeFileSync(path.join(state, 'index-killed', 'index'), 'DIRC')
  const old = new Date(Date.now() - 3_600_000)
  for (const name of ['index-killed', 'indexes']) utimesSync(path.join(state, name), old, old)
  await trimSnapshots(found, state)
  expect(readdirSync(state).sort()).toEqual(['index-now', 'indexes', 'objects'])
})

test('objects that a clone has in place of the kept indexes are neither followed nor waited for', async () => {
  const { repository, snapshot, plain, state } = create()
  repository.write('a', 'a\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  const outside = path.join(state, '..', 'outside')
  const mine = path.join(outside, 'mine')
  mkdirSync(outside)
  writeFileSync(mine, '/not/there')
  const indexes = path.join(state, 'indexes')
  const own = path.join(indexes, createHash('sha256').update(repository.root).digest('hex'))
  const head = repository.run('rev-parse', 'HEAD^{tree}').trim()
  mkdirSync(path.join(own, `${head}.index`), { recursive: true })
  symlinkSync(mine, path.join(own, 'work-tree'))
  symlinkSync(mine, path.join(own, 'link.index'))
  // Nobody writes into it: who opens it waits for ever.
  execFileSync('mkfifo', [path.join(own, 'fifo.index')])
  const other = path.join(indexes, 'other')
  mkdirSync(other)
  symlinkSync(mine, path.join(other, 'work-tree'))
  symlinkSync(outside, path.join(indexes, 'link'))
  symlinkSync('/dev/zero', path.join(outside, 'work-tree'))
  repository.write('a', 'b\n')
  expect(await snapshot()).toBe(plain())
  expect(readFileSync(mine, 'utf8')).toBe('/not/there')
  expect(readdirSync(own).sort()).toEqual([`${head}.index`, 'work-tree'].sort())
  expect(readdirSync(own).every(name => lstatSync(path.join(own, name)).isFile())).toBe(true)
  expect(existsSync(path.join(other, 'work-tree'))).toBe(true)

  for (const place of [own, indexes]) {
    rmSync(place, { recursive: true })
    symlinkSync(outside, place)
    await expect(snapshot()).rejects.toMatchObject({ code: 'unsafe' })
    rmSync(place)
  }
  expect(readdirSync(outside).sort()).toEqual(['mine', 'work-tree'])
})

function create() {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-snapshot-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const repository = initRepository(path.join(folder, 'repository'))
  const state = path.join(folder, 'state')
  mkdirSync(state)
  return {
    repository,
    state,
    snapshot: async (root = repository.root, env: Record<string, string> = {}) => {
      const found = await findRepository(root)
      if (found === undefined) throw new Error('no repository')
      return (await takeSnapshot({ ...found, env: { ...found.env, ...env } }, state)).tree
    },
    /** The environment of a git that does this first. */
    otherGit: (lines: string) => {
      const programs = mkdtempSync(path.join(folder, 'programs-'))
      const own = process.env.PATH ?? ''
      writeFileSync(path.join(programs, 'git'), `#!/bin/sh\n${lines}\nPATH='${own}' exec git "$@"\n`)
      chmodSync(path.join(programs, 'git'), 0o755)
      return { PATH: `${programs}:${own}` }
    },
    /** The same with an index that knows nothing. */
    plain: () => {
      const env = { ...process.env, GIT_INDEX_FILE: path.join(folder, 'plain-index') }
      const run = (...args: string[]) =>
        execFileSync('git', args, { cwd: repository.root, env, encoding: 'utf8', stdio: 'pipe' }).trim()
      rmSync(env.GIT_INDEX_FILE, { force: true })
      const hasCommit = repository.run('for-each-ref') !== ''
      if (hasCommit) run('read-tree', 'HEAD')
      run('-c', 'advice.addEmbeddedRepo=false', 'add', '--all')
      return run('write-tree')
    },
  }
}
