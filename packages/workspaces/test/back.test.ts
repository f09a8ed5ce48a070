import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  FileMoves,
  findRepository,
  type GitRepository,
  goBack,
  planBack,
  takeSnapshot,
} from '../src/index.ts'

const scope = 'session'
const cause = { kind: 'back', turnId: 't1', sessionId: 's2' } as const
let repository: Repository
let opened: GitRepository
let stateFolder: string

beforeEach(async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-back-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  repository = initRepository(path.join(folder, 'shop'))
  repository.write('a.txt', 'of a person\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  stateFolder = path.join(folder, 'state')
  mkdirSync(stateFolder)
  const found = await findRepository(repository.root)
  if (found === undefined) throw new Error('There is no repository.')
  opened = found
})

const read = (file: string) => readFileSync(path.join(repository.root, file), 'utf8')

async function turn(work: () => void): Promise<{ before: string; after: string }> {
  const { tree: before } = await takeSnapshot(opened, stateFolder)
  work()
  const { tree: after } = await takeSnapshot(opened, stateFolder)
  return { before, after }
}

function modesOf(...names: string[]): Record<string, number> {
  const modeOf = (name: string) => statSync(path.join(repository.root, name)).mode & 0o777
  return Object.fromEntries(names.map(name => [name, modeOf(name)]))
}

test('going back keeps the permissions of files, also of those that were removed, and so does its undo', async () => {
  repository.write('secret.txt', 'of a person\n')
  repository.write('run.sh', '#!/bin/sh\n')
  repository.write('edited.txt', 'of a person\n')
  const modes = { 'secret.txt': 0o600, 'run.sh': 0o700, 'edited.txt': 0o640 }
  for (const [name, mode] of Object.entries(modes)) chmodSync(path.join(repository.root, name), mode)
  const one = await turn(() => {
    rmSync(path.join(repository.root, 'secret.txt'))
    rmSync(path.join(repository.root, 'run.sh'))
    repository.write('edited.txt', 'of the agent\n')
    repository.write('token.txt', 'of the agent\n')
    chmodSync(path.join(repository.root, 'token.txt'), 0o400)
  })
  const moves = new FileMoves(opened, scope)
  const gone = await goBack(opened, moves, {
    turns: [one],
    stateFolder,
    overwrite: [],
    what: 'Back',
    cause,
  })
  expect(modesOf('secret.txt', 'run.sh', 'edited.txt')).toEqual(modes)
  expect(read('edited.txt')).toBe('of a person\n')
  await moves.undo(gone?.id ?? '')
  expect(modesOf('edited.txt', 'token.txt')).toEqual({ 'edited.txt': 0o640, 'token.txt': 0o400 })
  await moves.redo(gone?.id ?? '')
  expect(modesOf('secret.txt', 'run.sh', 'edited.txt')).toEqual(modes)
})

test('going back names repositories of their own and converted line endings, and leaves such a repository alone', async () => {
  const one = await turn(() => {
    repository.write('.gitattributes', '*.crlf text eol=crlf\n')
    repository.write('made/by-agent.txt', 'agent\n')
    const inner = initRepository(path.join(repository.root, 'inner'))
    inner.write('own.txt', 'own\n')
    initRepository(path.join(repository.root, 'with-commit')).write('own.txt', 'own\n')
    repository.run('-C', 'with-commit', 'add', '--all')
    const by = ['-c', 'user.name=A', '-c', 'user.email=a@example']
    repository.run('-C', 'with-commit', ...by, 'commit', '--quiet', '-m', 'Own')
  })
  expect(await planBack(opened, { turns: [one], stateFolder })).toMatchObject({
    files: ['.gitattributes', 'made/by-agent.txt'],
    repositories: ['inner', 'with-commit'],
  })
  const back = { turns: [one], stateFolder, overwrite: [], what: 'Back', cause }
  await goBack(opened, new FileMoves(opened, scope), back)
  expect(read('inner/own.txt')).toBe('own\n')
  expect(read('with-commit/own.txt')).toBe('own\n')
  expect(existsSync(path.join(repository.root, 'made'))).toBe(false)
  repository.write('.gitattributes', '*.txt text eol=crlf\n')
  const two = await turn(() => repository.write('a.txt', 'agent\r\n'))
  expect(await planBack(opened, { turns: [two], stateFolder })).toMatchObject({ converted: 1 })
})

test('going back with more files than are written one by one restores each, and its undo too', async () => {
  const names = Array.from(
    { length: 250 },
    (_, n) => `many/part-${n % 7}/file ${n}${n % 50 === 0 ? '\n' : ''}.txt`,
  )
  for (const name of names) repository.write(name, `person ${name}\n`)
  chmodSync(path.join(repository.root, names[3] ?? ''), 0o755)
  repository.write('.gitattributes', '*5.txt text eol=crlf\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'many')
  for (const name of names.slice(0, 120)) repository.write(name, `not committed ${name}\n`)
  const textOf = (name: string) => read(name).replaceAll('\r\n', '\n')
  const before = names.map(textOf)
  const one = await turn(() => {
    for (const name of names) repository.write(name, `agent ${name}\n`)
    rmSync(path.join(repository.root, 'many/part-2'), { recursive: true })
  })
  const moves = new FileMoves(opened, scope)
  const gone = await goBack(opened, moves, { turns: [one], stateFolder, overwrite: [], what: 'Back', cause })
  expect(gone?.files).toHaveLength(names.length)
  expect(names.map(textOf)).toEqual(before)
  expect(modesOf(names[3] ?? '')).toEqual({ [names[3] ?? '']: 0o755 })
  expect((await takeSnapshot(opened, stateFolder)).tree).toBe(one.before)
  await moves.undo(gone?.id ?? '')
  expect((await takeSnapshot(opened, stateFolder)).tree).toBe(one.after)
  expect(existsSync(path.join(repository.root, 'many/part-2'))).toBe(false)
})

/** Many files that a turn changed, and what they were before. */
async function manyChanged() {
  const names = Array.from({ length: 250 }, (_, n) => `many/part-${n % 5}/file-${n}.txt`)
  for (const name of names) repository.write(name, `person ${name}\n`)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'many')
  const trees = await turn(() => {
    for (const name of names) repository.write(name, `agent ${name}\n`)
  })
  return { names, back: { turns: [trees], stateFolder, overwrite: [], what: 'Back', cause }, trees }
}

const at = (file: string) => path.join(repository.root, file)
const refs = () => repository.run('for-each-ref', '--format=%(refname)', 'refs/chirality').trim()

/** Its git does something just before it writes down that the files are about to change. */
function withPerson(work: string): GitRepository {
  const programs = path.join(path.dirname(repository.root), 'programs')
  mkdirSync(programs)
  const own = process.env.PATH ?? ''
  const once = path.join(programs, 'once')
  const script = `#!/bin/sh
case "$*" in *update-ref*) if mkdir '${once}' 2> /dev/null; then cd '${repository.root}'; ${work}; fi;; esac
PATH='${own}' exec git "$@"
`
  writeFileSync(path.join(programs, 'git'), script, { mode: 0o755 })
  return { ...opened, env: { ...opened.env, PATH: `${programs}:${own}` } }
}

test('files that a person changes while they go back stay and are named, and the others are restored', async () => {
  const { names, back } = await manyChanged()
  const outside = path.join(path.dirname(repository.root), 'outside')
  const work = [
    'echo by a person > many/part-0/file-0.txt',
    'rm many/part-0/file-5.txt',
    'rm many/part-0/file-10.txt && mkdir many/part-0/file-10.txt && echo kept > many/part-0/file-10.txt/inner',
    `mv many/part-1 '${outside}' && ln -s '${outside}' many/part-1`,
  ]
  const gone = await goBack(opened, new FileMoves(withPerson(work.join('; ')), scope), back)
  const behindLink = names.filter(name => name.startsWith('many/part-1/'))
  const left = ['many/part-0/file-0.txt', 'many/part-0/file-5.txt', 'many/part-0/file-10.txt', ...behindLink]
  expect([...(gone?.left ?? [])].sort()).toEqual(left.sort())
  expect(read('many/part-0/file-0.txt')).toBe('by a person\n')
  expect(existsSync(at('many/part-0/file-5.txt'))).toBe(false)
  expect(read('many/part-0/file-10.txt/inner')).toBe('kept\n')
  for (const name of behindLink)
    expect(readFileSync(path.join(outside, path.basename(name)), 'utf8')).toBe(`agent ${name}\n`)
  for (const name of names) if (!left.includes(name)) expect(read(name)).toBe(`person ${name}\n`)
})

test('if one of many files cannot be written, all become as they were, and nothing is listed', async () => {
  const { names, back, trees } = await manyChanged()
  // In the place where its new content is written first.
  repository.write('many/part-4/.file-124.txt.chirality-moving/inner', 'of a person\n')
  const moves = new FileMoves(opened, scope)
  await expect(goBack(opened, moves, back)).rejects.toThrow('EISDIR')
  for (const name of names) expect(read(name)).toBe(`agent ${name}\n`)
  expect(refs()).toBe('')
  expect(read('many/part-4/.file-124.txt.chirality-moving/inner')).toBe('of a person\n')
  rmSync(at('many/part-4/.file-124.txt.chirality-moving'), { recursive: true })
  await goBack(opened, moves, back)
  expect((await takeSnapshot(opened, stateFolder)).tree).toBe(trees.before)
  expect(repository.run('fsck', '--no-dangling')).toBe('')
})

test('files too large for the memory go back and come again', async () => {
  const sizes = { 'kept.bin': 2 * 1024 * 1024, 'committed.bin': 7 * 1024 * 1024 }
  const fill = (by: string) => {
    for (const [name, size] of Object.entries(sizes)) writeFileSync(at(name), Buffer.alloc(size, by))
  }
  fill('before')
  repository.run('add', 'committed.bin')
  repository.run('commit', '-qm', 'large')
  const trees = await turn(() => fill('agent'))
  const moves = new FileMoves(opened, scope)
  const gone = await goBack(opened, moves, {
    turns: [trees],
    stateFolder,
    overwrite: [],
    what: 'Back',
    cause,
  })
  const areAll = (by: string) =>
    Object.entries(sizes).every(([name, size]) => readFileSync(at(name)).equals(Buffer.alloc(size, by)))
  expect(areAll('before')).toBe(true)
  await moves.undo(gone?.id ?? '')
  expect(areAll('agent')).toBe(true)
  expect(repository.run('fsck', '--no-dangling')).toBe('')
})
