import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  findOverlaps,
  findRepository,
  type GitRepository,
  type SessionWork,
  takeSnapshot,
} from '../src/index.ts'

const LINES = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`)

let repository: Repository
let opened: GitRepository
let stateFolder: string
let folder: string

beforeEach(async () => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-radar-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  repository = initRepository(path.join(folder, 'shop'))
  for (const file of ['a.txt', 'b.txt', 'odd "name"\n.txt']) repository.write(file, `${LINES.join('\n')}\n`)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  stateFolder = path.join(folder, 'state')
  mkdirSync(stateFolder)
  opened = await open(repository.root)
})

test('sessions in worktrees hear of the same file, and of lines that would not merge, committed or not', async () => {
  const one = await worktree('one')
  const two = await worktree('two')
  const three = await worktree('three')
  change(one, 'a.txt', { 3: 'by one', 30: 'by one' })
  change(one, 'odd "name"\n.txt', { 1: 'by one' })
  repository.run('-C', one, 'commit', '-qam', 'work of one')
  change(one, 'b.txt', { 5: 'by one' })
  change(two, 'a.txt', { 3: 'by two' })
  change(two, 'b.txt', { 35: 'by two' })
  change(two, 'odd "name"\n.txt', { 1: 'by two' })
  writeFileSync(path.join(three, 'c.txt'), 'new\n')

  const works = await Promise.all(['one', 'two', 'three'].map(name => work(name)))
  const [first, second, third] = works as [SessionWork, SessionWork, SessionWork]
  const found = await findOverlaps(opened, { stateFolder, own: first, others: [second, third] })
  expect(found).toEqual([
    {
      session: 'two',
      files: [
        { file: 'a.txt', conflicts: true, own: [[3, 3]], theirs: [[3, 3]] },
        { file: 'odd "name"\n.txt', conflicts: true, own: [[1, 1]], theirs: [[1, 1]] },
        { file: 'b.txt', conflicts: false, own: [[5, 5]], theirs: [[35, 35]] },
      ],
    },
  ])
  expect(await findOverlaps(opened, { stateFolder, own: third, others: works })).toEqual([
    { session: 'three', files: [expect.objectContaining({ file: 'c.txt' })] },
  ])

  // Merged changes belong to nobody, and nothing of this is in the user's repository.
  repository.run('merge', '-q', 'chirality/one')
  const merged = await findOverlaps(opened, {
    stateFolder,
    own: await work('one'),
    others: [await work('two')],
  })
  expect(merged).toEqual([
    { session: 'two', files: [{ file: 'b.txt', conflicts: false, own: [[5, 5]], theirs: [[35, 35]] }] },
  ])
  expect(readdirSync(path.join(repository.root, '.git', 'refs'))).not.toContain('chirality')
  expect(repository.run('fsck', '--no-dangling')).toBe('')
})

test('a session in the folder of the project is compared by the files that are its own', async () => {
  const one = await worktree('one')
  change(one, 'a.txt', { 3: 'by one' })
  change(one, 'b.txt', { 3: 'by one' })
  change(repository.root, 'a.txt', { 4: 'in the folder' })
  change(repository.root, 'b.txt', { 4: 'by a person' })
  const inFolder: SessionWork = { ...(await work('folder', repository.root)), files: new Set(['a.txt']) }
  const found = await findOverlaps(opened, { stateFolder, own: await work('one'), others: [inFolder] })
  expect(found).toEqual([
    { session: 'folder', files: [{ file: 'a.txt', conflicts: true, own: [[3, 3]], theirs: [[4, 4]] }] },
  ])
})

test('a file that became a link does not shift the lines of the files after it', async () => {
  const [one, two] = [await worktree('one'), await worktree('two')]
  rmSync(path.join(one, 'a.txt'))
  symlinkSync('b.txt', path.join(one, 'a.txt'))
  change(one, 'b.txt', { 5: 'by one' })
  change(two, 'b.txt', { 35: 'by two' })
  const found = await findOverlaps(opened, {
    stateFolder,
    own: await work('one'),
    others: [await work('two')],
  })
  expect(found).toEqual([
    { session: 'two', files: [{ file: 'b.txt', conflicts: false, own: [[5, 5]], theirs: [[35, 35]] }] },
  ])
})

test('programs that a hostile repository names for merging and comparing are not run', async () => {
  const ran = path.join(folder, 'ran')
  repository.run('config', 'merge.evil.driver', `touch ${ran}`)
  repository.run('config', 'diff.evil.command', `touch ${ran}`)
  repository.run('config', 'diff.evil.textconv', `touch ${ran}; cat`)
  repository.write('.gitattributes', '* merge=evil diff=evil\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'evil')
  opened = await open(repository.root)
  for (const name of ['one', 'two']) change(await worktree(name), 'a.txt', { 3: name })
  const found = await findOverlaps(opened, {
    stateFolder,
    own: await work('one'),
    others: [await work('two')],
  })
  expect(found[0]?.files).toMatchObject([{ file: 'a.txt', conflicts: true }])
  expect(readdirSync(folder)).not.toContain('ran')
})

async function open(root: string): Promise<GitRepository> {
  const found = await findRepository(root)
  if (found === undefined) throw new Error('no repository')
  return found
}

async function worktree(name: string): Promise<string> {
  const place = path.join(folder, name)
  repository.run('worktree', 'add', '-q', '-b', `chirality/${name}`, place)
  return place
}

function change(root: string, file: string, lines: Record<number, string>): void {
  const text = LINES.map((line, index) => lines[index + 1] ?? line)
  writeFileSync(path.join(root, file), `${text.join('\n')}\n`)
}

async function work(name: string, root = path.join(folder, name)): Promise<SessionWork> {
  const place = await open(root)
  const { tree } = await takeSnapshot(place, stateFolder)
  const head = repository.run('-C', root, 'rev-parse', 'HEAD').trim()
  const base = root === repository.root ? null : 'refs/heads/main'
  return { session: name, place: name, head, base, tree, files: null }
}
