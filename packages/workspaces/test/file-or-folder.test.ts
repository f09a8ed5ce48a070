import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import fc from 'fast-check'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  diffTrees,
  discardChanges,
  FileMoves,
  findRepository,
  type GitRepository,
  goBack,
  planBack,
  takeSnapshot,
} from '../src/index.ts'

const RUNS = process.env.CHIRALITY_TEST_ALL ? 100 : 10
const scope = 'session'
const cause = { kind: 'fork' } as const
let repository: Repository
let opened: GitRepository
let stateFolder: string

beforeEach(async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-file-or-folder-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  await begin(folder)
})

async function begin(folder: string): Promise<void> {
  repository = initRepository(path.join(folder, 'shop'))
  repository.run('config', 'user.name', 'A User')
  repository.run('config', 'user.email', 'user@example')
  repository.write('.gitignore', '*.log\n')
  repository.write('full/inner', 'inner\n')
  repository.write('other/inner', 'other\n')
  stateFolder = path.join(folder, 'state')
  mkdirSync(stateFolder)
  const found = await findRepository(repository.root)
  if (found === undefined) throw new Error('no repository')
  opened = found
}

const at = (name: string) => path.join(repository.root, name)
const remove = (name: string) => rmSync(at(name), { recursive: true, force: true })
const snapshot = async () => (await takeSnapshot(opened, stateFolder)).tree

function commit(): void {
  repository.run('add', '--all')
  repository.run('commit', '-q', '--allow-empty', '-m', 'work')
}

function link(name: string, target: string): void {
  remove(name)
  symlinkSync(target, at(name))
}

async function turn(work: () => void): Promise<{ before: string; after: string }> {
  const before = await snapshot()
  work()
  return { before, after: await snapshot() }
}

/** All files and links, also ignored ones, and nothing behind a link. */
function onDisk(folder = '', files: Record<string, string> = {}): Record<string, string> {
  for (const entry of readdirSync(at(folder), { withFileTypes: true })) {
    const name = path.join(folder, entry.name)
    if (entry.isSymbolicLink()) files[name] = `to ${readlinkSync(at(name))}`
    else if (entry.isFile()) files[name] = readFileSync(at(name), 'utf8')
    else if (name !== '.git') onDisk(name, files)
  }
  return files
}

type Trees = { before: string; after: string }
const discard = ({ before, after }: Trees, name: string) =>
  discardChanges(opened, { from: before, to: after, stateFolder, files: [{ path: name }], scope })
const moves = () => new FileMoves(opened, scope)
const back = (turns: Trees[], overwrite: string[] = []) =>
  goBack(opened, moves(), { turns, stateFolder, overwrite, what: 'Back', cause })

describe('a folder that became a file', () => {
  test('and was changed by a person is not lost by going back: what was in the folder has no place', async () => {
    repository.write('x/a', 'a\n')
    commit()
    const trees = await turn(() => {
      remove('x')
      repository.write('x', 'agent\n')
    })
    repository.write('x', 'a person\n')
    commit()
    const now = onDisk()
    expect(await planBack(opened, { turns: [trees], stateFolder })).toEqual({
      files: ['x', 'x/a'],
      changedSince: ['x'],
      repositories: [],
      converted: 0,
    })
    await expect(back([trees])).rejects.toMatchObject({
      code: 'review-refused',
      message:
        'x/a cannot be written: x is in its place and would be lost. Take back x too, or move it first. Nothing was changed.',
    })
    expect([onDisk(), await moves().list()]).toEqual([now, []])
    const move = await back([trees], ['x'])
    expect(readFileSync(at('x/a'), 'utf8')).toBe('a\n')
    await moves().undo(move?.id ?? '')
    expect(onDisk()).toEqual(now)
  })
})

describe('a file that became a folder', () => {
  test.each(['b.log', 'person', 'deep/b.log', 'empty/'])(
    'is not written while the folder has %s, which nobody takes back',
    async other => {
      repository.write('x', 'a file\n')
      commit()
      const trees = await turn(() => {
        remove('x')
        repository.write('x/a', 'agent\n')
        repository.write('x/deep/c', 'agent\n')
      })
      if (other.endsWith('/')) mkdirSync(at(`x/${other}`))
      else repository.write(`x/${other}`, 'not of the turn\n')
      const now = onDisk()
      const refused = {
        code: 'review-refused',
        message: `x cannot be written: it is a folder now, with x/${other.replace(/\/$/, '')} in it. Discard or move that first. Nothing was changed.`,
      }
      await expect(back([trees])).rejects.toMatchObject(refused)
      await expect(discard(trees, 'x')).rejects.toMatchObject(refused)
      expect([onDisk(), await moves().list()]).toEqual([now, []])
      remove(`x/${other}`)
      await back([trees])
      expect(readFileSync(at('x'), 'utf8')).toBe('a file\n')
    },
  )
})

test('a change of a file that became a folder, or of a folder that became a file, is discarded with the whole file only', async () => {
  repository.write('x', 'a file\n')
  repository.write('y/a', 'a\n')
  repository.write('z', 'a file\n')
  commit()
  const { before, after } = await turn(() => {
    for (const name of ['x', 'y']) remove(name)
    repository.write('x/a', 'agent\n')
    repository.write('y', 'agent\n')
    link('z', 'full')
  })
  const choices = [
    { path: 'x', hunks: [{ oldStart: 1, newStart: 0, lines: ['-a file'] }] },
    { path: 'y', hunks: [{ oldStart: 0, newStart: 1, lines: ['+agent'] }] },
    { path: 'z', hunks: [{ oldStart: 1, newStart: 0, lines: ['-a file'] }] },
  ]
  for (const file of choices)
    await expect(
      discardChanges(opened, { from: before, to: after, stateFolder, scope, files: [file] }),
    ).rejects.toThrow(
      `${file.path} became a folder, a link or a file that it was not before. Discard the whole file. Nothing was changed.`,
    )
  expect([await snapshot(), await moves().list()]).toEqual([after, []])
})

describe('a file that became a folder, once that is committed', () => {
  test.each(['discard', 'back'])('is brought back by %s', async how => {
    repository.write('x', 'a file\n')
    commit()
    const trees = await turn(() => {
      remove('x')
      repository.write('x/a', 'agent\n')
    })
    commit()
    const now = onDisk()
    const move = how === 'back' ? await back([trees]) : await discard(trees, 'x')
    expect(readFileSync(at('x'), 'utf8')).toBe('a file\n')
    await moves().undo(move?.id ?? '')
    expect(onDisk()).toEqual(now)
  })
})

describe('a link to a folder with files', () => {
  test('that leads elsewhere is discarded and brought back', async () => {
    link('x', 'full')
    commit()
    const trees = await turn(() => link('x', 'other'))
    const { id } = await discard(trees, 'x')
    expect(readlinkSync(at('x'))).toBe('full')
    await moves().undo(id)
    expect(readlinkSync(at('x'))).toBe('other')
    await back([trees])
    expect([readlinkSync(at('x')), existsSync(at('other/inner'))]).toEqual(['full', true])
  })

  test('in the place of a file is discarded and brought back', async () => {
    repository.write('x', 'a file\n')
    commit()
    const trees = await turn(() => link('x', 'full'))
    const { id } = await discard(trees, 'x')
    expect(readFileSync(at('x'), 'utf8')).toBe('a file\n')
    await moves().undo(id)
    expect(readlinkSync(at('x'))).toBe('full')
    await back([trees])
    expect([readFileSync(at('x'), 'utf8'), existsSync(at('full/inner'))]).toEqual(['a file\n', true])
  })

  test('in the place of a folder is discarded and brought back, and nothing is written behind it', async () => {
    repository.write('x/inner', 'of the folder\n')
    commit()
    const trees = await turn(() => link('x', 'full'))
    await expect(discard(trees, 'x/inner')).rejects.toThrow('x/inner cannot be written: x is a file now.')
    const { id } = await discard(trees, 'x')
    expect(readFileSync(at('x/inner'), 'utf8')).toBe('of the folder\n')
    await moves().undo(id)
    expect([readlinkSync(at('x')), readFileSync(at('full/inner'), 'utf8')]).toEqual(['full', 'inner\n'])
  })
})

/** Kind of `x`: nothing, a file, a link, or a folder with these names in it. */
const LAYOUT = fc.oneof(
  fc.constantFrom('nothing', 'file', 'link'),
  fc.uniqueArray(fc.constantFrom('a', 'b', 'deep/c', 'deep/d.log'), { minLength: 1 }),
)
type Layout = 'nothing' | 'file' | 'link' | string[]

/** Files that are in the layout before too stay as they are, so that not all differ. */
function lay(layout: Layout, by: string): void {
  const kept = Array.isArray(layout) ? layout.filter(name => existsSync(at(`x/${name}`))) : []
  const contents = new Map(kept.map(name => [name, readFileSync(at(`x/${name}`), 'utf8')]))
  remove('x')
  if (layout === 'file') repository.write('x', `${by}\n`)
  else if (layout === 'link') link('x', by === 'agent' ? 'full' : 'other')
  else if (layout !== 'nothing')
    for (const name of layout) repository.write(`x/${name}`, contents.get(name) ?? `${by}\n`)
}

const HISTORY = fc.record({
  first: LAYOUT,
  turns: fc.array(LAYOUT, { minLength: 1, maxLength: 2 }),
  person: fc.option(LAYOUT),
  isCommitted: fc.boolean(),
  isDiscard: fc.boolean(),
  /** The file to discard, or how many of the files that a person changed are overwritten. */
  pick: fc.nat({ max: 5 }),
})

test('files that are not discarded stay as they were, whatever became a file, a link or a folder, and undo brings all of it back', {
  timeout: RUNS * 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(HISTORY, async history => {
      const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-layouts-')))
      try {
        await begin(folder)
        await takenBack(history)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }),
    { numRuns: RUNS, endOnFailure: true },
  )
})

async function takenBack(history: typeof HISTORY extends fc.Arbitrary<infer T> ? T : never): Promise<void> {
  lay(history.first, 'first')
  commit()
  const first = onDisk()
  const turns: Trees[] = []
  for (const layout of history.turns) turns.push(await turn(() => lay(layout, 'agent')))
  if (history.person !== null) lay(history.person, 'person')
  if (history.isCommitted) commit()
  const now = onDisk()
  const trees = { before: turns[0]?.before ?? '', after: turns.at(-1)?.after ?? '' }
  const { files } = await diffTrees(opened, { from: trees.before, to: trees.after, stateFolder })
  const file = files[history.pick % Math.max(files.length, 1)]
  const plan = await planBack(opened, { turns, stateFolder })
  const overwrite = plan.changedSince.slice(0, history.pick)
  let move: Awaited<ReturnType<typeof goBack>>
  try {
    if (!history.isDiscard) move = await back(turns, overwrite)
    else if (file === undefined) return
    else
      move = await discardChanges(opened, {
        from: trees.before,
        to: trees.after,
        stateFolder,
        scope,
        files: [{ path: file.path, renamedFrom: file.renamedFrom }],
      })
  } catch (error) {
    expect(error).toMatchObject({ code: 'review-refused' })
    expect([onDisk(), await moves().list()]).toEqual([now, []])
    return
  }
  const taken = history.isDiscard
    ? (move?.files ?? [])
    : plan.files.filter(name => overwrite.includes(name) || !plan.changedSince.includes(name))
  const expected = { ...now }
  for (const name of taken) {
    delete expected[name]
    if (first[name] !== undefined) expected[name] = first[name]
  }
  expect(onDisk()).toEqual(expected)
  if (move !== null) await moves().undo(move.id)
  expect(onDisk()).toEqual(now)
}
