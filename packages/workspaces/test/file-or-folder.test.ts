import {
  existsSync,
  lstatSync,
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
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  discardChanges,
  FileMoves,
  findRepository,
  type GitRepository,
  goBack,
  planBack,
  takeSnapshot,
} from '../src/index.ts'

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

/** All files and links, also ignored ones. */
function onDisk(): Record<string, string> {
  const files: Record<string, string> = {}
  for (const name of readdirSync(repository.root, { recursive: true, encoding: 'utf8' })) {
    if (name === '.git' || name.startsWith('.git/')) continue
    const facts = lstatSync(at(name))
    if (facts.isSymbolicLink()) files[name] = `to ${readlinkSync(at(name))}`
    else if (facts.isFile()) files[name] = readFileSync(at(name), 'utf8')
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
})
