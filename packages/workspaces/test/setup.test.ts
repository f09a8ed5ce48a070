import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository } from '@chirality/fixtures'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  fillVariables,
  fillWorktree,
  readWorkspaceFile,
  type WorkspaceSetup,
  Worktrees,
} from '../src/index.ts'

let root: string
let project: string

beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-setup-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  project = path.join(root, 'shop')
  mkdirSync(path.join(project, '.chirality'), { recursive: true })
})

const file = () => path.join(project, '.chirality/workspace.yaml')
const nothing: WorkspaceSetup = { copy: [], share: [], clone: [], minutes: 10, variables: {} }
const { signal } = new AbortController()

test('a set-up file is read with its text and hash, and every change of the text is another hash', async () => {
  expect(await readWorkspaceFile(project)).toBeUndefined()
  const text =
    "copy: ['.env*']\nshare: [node_modules]\ncommand: npm ci\nminutes: 5\nvariables: { PORT: '{port}' }\n"
  writeFileSync(file(), text)
  const read = await readWorkspaceFile(project)
  expect(read).toMatchObject({ text, hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect(read?.setup).toEqual({
    copy: ['.env*'],
    share: ['node_modules'],
    clone: [],
    command: 'npm ci',
    minutes: 5,
    variables: { PORT: '{port}' },
  })
  writeFileSync(file(), `${text} `)
  expect((await readWorkspaceFile(project))?.hash).not.toBe(read?.hash)
})

test.each([
  ['copy: [../.ssh/id]', 'no path below the project'],
  ['copy: [/etc/passwd]', 'no path below the project'],
  ['share: [a/../../b]', 'no path below the project'],
  ['clone: [.git]', 'no path below the project'],
  ['copy: ["*/x"]', 'no path below the project'],
  ['copy: .env', 'has to be a list'],
  ['command: 7', 'has to be a text'],
  ['minutes: 1000', 'has to be a number'],
  ['variables: { PATH: /tmp }', 'PATH cannot be set here'],
  ['variables: { LD_PRELOAD: x.so }', 'LD_PRELOAD cannot be set here'],
  ['variables: { ANTHROPIC_BASE_URL: http://x }', 'cannot be set here'],
  ['run: x', 'unknown key: run'],
  ['a: &a [1]\ncopy: *a', 'lias'],
  ['{', ''],
])('%s is refused', async (text, why) => {
  writeFileSync(file(), text)
  const read = await readWorkspaceFile(project)
  expect(read?.setup).toEqual({ problem: expect.stringContaining(why) })
})

test('a set-up file that nobody would read to its end is refused', async () => {
  writeFileSync(file(), `command: ${'x'.repeat(20_000)}`)
  expect((await readWorkspaceFile(project))?.setup).toEqual({ problem: expect.stringContaining('more than') })
})

test('a set-up file that is a link or a folder is none', async () => {
  writeFileSync(path.join(root, 'elsewhere.yaml'), 'command: evil\n')
  symlinkSync(path.join(root, 'elsewhere.yaml'), file())
  expect(await readWorkspaceFile(project)).toBeUndefined()
  rmSync(file())
  mkdirSync(file())
  expect(await readWorkspaceFile(project)).toBeUndefined()
})

test('a worktree gets files, links and copies; what is there stays, and nothing follows a link out', async () => {
  const repository = initRepository(project)
  repository.write('.gitignore', '.env*\nnode_modules/\nvendor/\n')
  repository.write('tracked.txt', 'tracked\n')
  repository.run('add', '.gitignore', 'tracked.txt')
  repository.run('commit', '-qm', 'first')
  const secret = path.join(root, 'secret')
  mkdirSync(secret)
  writeFileSync(path.join(secret, 'key'), 'secret\n')
  for (const [name, text] of Object.entries({ '.env': 'A=1\n', '.env.local': 'B=2\n' }))
    repository.write(name, text)
  repository.write('node_modules/x/index.js', 'x\n')
  repository.write('vendor/y.txt', 'y\n')
  symlinkSync('y.txt', path.join(project, 'vendor/link'))
  symlinkSync(path.join(secret, 'key'), path.join(project, '.env.link'))
  symlinkSync(secret, path.join(project, 'out'))
  const { worktree } = await new Worktrees(path.join(root, 'worktrees')).make({
    projectRoot: project,
    title: 'try',
  })
  const { folder } = worktree
  writeFileSync(path.join(folder, '.env.local'), 'mine\n')
  symlinkSync(secret, path.join(folder, 'trap'))
  mkdirSync(path.join(project, 'trap'))
  writeFileSync(path.join(project, 'trap/planted'), 'x\n')
  const setup = {
    ...nothing,
    copy: ['.env*', '.env.link', 'out/key', 'trap/planted', 'absent'],
    share: ['node_modules', 'out', 'tracked.txt'],
    clone: ['vendor'],
  }
  const filled = await fillWorktree(setup, { projectRoot: project, folder, signal })
  expect(filled).toMatchObject({ copied: ['.env'], shared: ['node_modules'], cloned: ['vendor'] })
  expect(filled.problems).toEqual([
    '.env.link: is a link, or behind one.',
    'out/key: is a link, or behind one.',
    'trap/planted: is a link, or behind one.',
    'out: is a link, or behind one.',
  ])
  expect(readFileSync(path.join(folder, '.env'), 'utf8')).toBe('A=1\n')
  expect(readFileSync(path.join(folder, '.env.local'), 'utf8')).toBe('mine\n')
  expect(lstatSync(path.join(folder, 'node_modules')).isSymbolicLink()).toBe(true)
  expect(readFileSync(path.join(folder, 'vendor/link'), 'utf8')).toBe('y\n')
  expect(existsSync(path.join(secret, 'planted'))).toBe(false)
  rmSync(path.join(folder, 'trap'))
  // The link to a folder that is ignored is ignored too.
  expect(repository.run('-C', folder, 'status', '--porcelain')).toBe('')
  // Twice does nothing.
  const again = await fillWorktree({ ...setup, copy: ['.env'] }, { projectRoot: project, folder, signal })
  expect(again).toMatchObject({ copied: [], shared: [], cloned: [] })
})

test('a folder that git does not ignore is not shared: the line that ignores its link would hide it in the project too', async () => {
  const { repository, folder } = await makeWorktree('node_modules/\n')
  repository.write('node_modules/x.js', 'x\n')
  repository.write('data/x.txt', 'x\n')
  const setup = { ...nothing, share: ['node_modules', 'data'] }
  const filled = await fillWorktree(setup, { projectRoot: project, folder, signal })
  expect(filled.shared).toEqual(['node_modules'])
  expect(filled.problems).toEqual(['data: is not ignored by git, so it cannot be shared.'])
  expect(existsSync(path.join(folder, 'data'))).toBe(false)
  expect(repository.run('status', '--porcelain')).toBe('?? data/\n')
})

test('a clone that is stopped leaves nothing, and what a killed one left is made again', async () => {
  const { repository, folder } = await makeWorktree('vendor/\n')
  for (const name of ['a', 'b', 'c']) repository.write(`vendor/${name}`, `${name}\n`)
  const part = path.join(folder, 'vendor.chirality-part')
  const setup = { ...nothing, clone: ['vendor'] }
  const stop = new AbortController()
  const check = stop.signal.throwIfAborted.bind(stop.signal)
  // Between the first file and the second.
  stop.signal.throwIfAborted = () => {
    for (const place of [part, path.join(folder, 'vendor')])
      if (existsSync(place) && readdirSync(place).length > 0) stop.abort()
    check()
  }
  const stopped = fillWorktree(setup, { projectRoot: project, folder, signal: stop.signal })
  await expect(stopped).rejects.toMatchObject({ name: 'AbortError' })
  expect(readdirSync(folder).sort()).toEqual(['.git', '.gitignore'])

  mkdirSync(part)
  writeFileSync(path.join(part, 'half'), '')
  const filled = await fillWorktree(setup, { projectRoot: project, folder, signal })
  expect(filled).toMatchObject({ cloned: ['vendor'], problems: [] })
  expect(readdirSync(path.join(folder, 'vendor')).sort()).toEqual(['a', 'b', 'c'])
  expect(existsSync(part)).toBe(false)
})

test('a set-up that a living process runs is left to it, and one of a dead process begins anew', async () => {
  const { worktrees, id } = await makeWorktree('')
  await worktrees.noteSetup(id, { hash: 'x', state: 'running', variables: {} })
  expect(await worktrees.recover()).toEqual([])
  expect((await worktrees.find(id))?.setup?.state).toBe('running')
  const record = path.join(root, 'worktrees', `${id}.json`)
  const { by, ...rest } = JSON.parse(readFileSync(record, 'utf8'))
  // The same number, and another process.
  writeFileSync(record, JSON.stringify({ ...rest, by: { ...by, startedAt: 'before' } }))
  expect(await worktrees.recover()).toEqual([])
  expect((await worktrees.find(id))?.setup).toBeUndefined()
})

test('files that are too large to copy are named and left out', async () => {
  const target = path.join(root, 'worktree')
  mkdirSync(target)
  const large = path.join(project, 'large.bin')
  writeFileSync(large, '')
  const { truncateSync } = await import('node:fs')
  truncateSync(large, 65 * 1024 ** 2)
  const filled = await fillWorktree(
    { ...nothing, copy: ['large.bin'] },
    { projectRoot: project, folder: target, signal },
  )
  expect(filled.problems).toEqual(['large.bin: is too much to copy (at most 64 MiB).'])
  expect(existsSync(path.join(target, 'large.bin'))).toBe(false)
})

test('each variable gets a port of its own, and none that another worktree has', async () => {
  const wanted = { PORT: '{port}', API: 'http://127.0.0.1:{port}', DATABASE: 'shop_{name}' }
  const first = await fillVariables(wanted, { id: 'try-it-0a1b2c', taken: new Set() })
  expect(first).toMatchObject({ PORT: expect.stringMatching(/^\d+$/), DATABASE: 'shop_try_it_0a1b2c' })
  expect(first.API).not.toBe(`http://127.0.0.1:${first.PORT}`)
})

async function makeWorktree(ignored: string) {
  const repository = initRepository(project)
  repository.write('.gitignore', ignored)
  repository.run('add', '.gitignore')
  repository.run('commit', '-qm', 'first')
  const worktrees = new Worktrees(path.join(root, 'worktrees'))
  const { worktree } = await worktrees.make({ projectRoot: project, title: 'try' })
  return { repository, worktrees, id: worktree.id, folder: worktree.folder }
}
