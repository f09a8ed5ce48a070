import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  diffTrees,
  discardChanges,
  FileMoves,
  findRepository,
  type GitRepository,
  goBack,
  type HunkChoice,
  planBack,
  takeSnapshot,
} from '../src/index.ts'

const LINES = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`)
const text = (lines: readonly string[]) => `${lines.join('\n')}\n`

let repository: Repository
let opened: GitRepository
let stateFolder: string
const scope = 'session'
const cause = { kind: 'back', turnId: 't1', sessionId: 's2' } as const
const NONE: HunkChoice = { oldStart: 0, newStart: 0, lines: [] }

beforeEach(async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-review-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  repository = initRepository(path.join(folder, 'shop'))
  repository.write('a.txt', text(LINES))
  repository.write('src/gone.txt', 'to be deleted\n')
  repository.write('src/old-name.txt', text(LINES.map(line => `named ${line}`)))
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  stateFolder = path.join(folder, 'state')
  mkdirSync(stateFolder)
  opened = await open()
})

async function open(folder = repository.root): Promise<GitRepository> {
  const found = await findRepository(folder)
  if (found === undefined) throw new Error('no repository')
  return found
}

const read = (file: string) => readFileSync(path.join(repository.root, file), 'utf8')
const snapshot = async () => (await takeSnapshot(opened, stateFolder)).tree

/** Two changes far apart in a.txt, so that they are two hunks. */
function twoChanges(): string {
  return text(LINES.map((line, i) => (i === 2 ? 'AGENT 3' : i === 35 ? 'AGENT 36' : line)))
}

async function turn(work: () => void): Promise<{ before: string; after: string }> {
  const before = await snapshot()
  work()
  return { before, after: await snapshot() }
}

async function hunksOf(trees: { before: string; after: string }, file: string): Promise<HunkChoice[]> {
  const { patch } = await diffTrees(opened, { from: trees.before, to: trees.after, stateFolder })
  const part = patch.split(/^(?=diff --git )/m).find(piece => piece.includes(`b/${file}\n`)) ?? ''
  return part
    .split(/^(?=@@ )/m)
    .slice(1)
    .map(hunk => {
      const [head = '', ...lines] = hunk.trimEnd().split('\n')
      const [oldStart = 0, newStart = 0] = [...head.matchAll(/[-+](\d+)/g)].map(([, number]) =>
        Number(number),
      )
      return { oldStart, newStart, lines }
    })
}

const discard = (
  trees: { before: string; after: string },
  files: Parameters<typeof discardChanges>[1]['files'],
) => discardChanges(opened, { from: trees.before, to: trees.after, stateFolder, files, scope })

describe('a discarded change', () => {
  test('one hunk goes, the other stays, and undo brings it back byte for byte', async () => {
    const trees = await turn(() => repository.write('a.txt', twoChanges()))
    const [first = NONE] = await hunksOf(trees, 'a.txt')
    const move = await discard(trees, [{ path: 'a.txt', hunks: [first] }])
    expect(move).toMatchObject({ what: 'Discarded a change in a.txt', state: 'done', files: ['a.txt'] })
    expect(read('a.txt')).toBe(text(LINES.map((line, i) => (i === 35 ? 'AGENT 36' : line))))
    const moves = new FileMoves(opened, scope)
    await moves.undo(move.id)
    expect(read('a.txt')).toBe(twoChanges())
    await moves.redo(move.id)
    expect(read('a.txt')).not.toContain('AGENT 3\n')
    expect(repository.run('show', `refs/chirality/moves/${scope}/${move.id}^:a.txt`)).toBe(twoChanges())
    expect(repository.run('fsck', '--no-dangling')).toBe('')
  })

  test('whole files: new, deleted, renamed, binary, executable and linked ones', async () => {
    const binary = Buffer.from([0, 255, 1, 254, 10, 13])
    const trees = await turn(() => {
      repository.write('deep/new.txt', 'new\n')
      rmSync(path.join(repository.root, 'src/gone.txt'))
      repository.run('mv', 'src/old-name.txt', 'src/new-name.txt')
      repository.write('image.bin', binary.toString('latin1'))
      chmodSync(path.join(repository.root, 'a.txt'), 0o755)
      symlinkSync('a.txt', path.join(repository.root, 'link'))
    })
    const staged = repository.run('diff', '--cached', '--name-status')
    const move = await discard(trees, [
      ...['deep/new.txt', 'src/gone.txt', 'image.bin', 'a.txt', 'link'].map(file => ({ path: file })),
      { path: 'src/new-name.txt', renamedFrom: 'src/old-name.txt' },
    ])
    expect(
      repository.run('status', '--porcelain', '--untracked-files=all').split('\n').filter(Boolean),
    ).toEqual([
      // Only what the user staged differs: the files are as in the last commit.
      'RD src/old-name.txt -> src/new-name.txt',
      '?? src/old-name.txt',
    ])
    expect(existsSync(path.join(repository.root, 'deep'))).toBe(false)
    expect(repository.run('diff', '--cached', '--name-status')).toBe(staged)
    await new FileMoves(opened, scope).undo(move.id)
    expect(await snapshot()).toBe(trees.after)
  })

  test('is refused when the file changed there since, and nothing is lost', async () => {
    const trees = await turn(() => repository.write('a.txt', twoChanges()))
    const [first = NONE] = await hunksOf(trees, 'a.txt')
    const later = twoChanges().replace('AGENT 3\n', 'A PERSON\n')
    repository.write('a.txt', later)
    await expect(discard(trees, [{ path: 'a.txt', hunks: [first] }])).rejects.toMatchObject({
      code: 'review-refused',
      message:
        'a.txt changed since, and the change is not there any more as it was shown. Nothing was changed.',
    })
    expect(read('a.txt')).toBe(later)
    expect(await new FileMoves(opened, scope).list()).toEqual([])
  })

  test('is refused with the reason where a file became a folder, or a folder a file, and taken back with all that is below', async () => {
    const at = (name: string) => path.join(repository.root, name)
    const trees = await turn(() => {
      for (const name of ['src', 'a.txt']) rmSync(at(name), { recursive: true })
      repository.write('src', 'a file\n')
      repository.write('a.txt/inner', 'inner\n')
    })
    await expect(discard(trees, [{ path: 'src/gone.txt' }])).rejects.toThrow(
      'src/gone.txt cannot be written: src is a file now. Discard or move that first. Nothing was changed.',
    )
    expect([await snapshot(), await new FileMoves(opened, scope).list()]).toEqual([trees.after, []])
    // Files below it are discarded with it.
    const move = await discard(trees, [{ path: 'src' }])
    await discard(trees, [{ path: 'a.txt' }])
    expect([read('a.txt'), existsSync(at('src/gone.txt'))]).toEqual([text(LINES), true])
    await new FileMoves(opened, scope).undo(move.id)
    expect(read('src')).toBe('a file\n')
  })

  test('keeps what a person wrote elsewhere in the file', async () => {
    const trees = await turn(() => repository.write('a.txt', twoChanges()))
    const [first = NONE] = await hunksOf(trees, 'a.txt')
    repository.write('a.txt', twoChanges().replace('line 20\n', "a person's line\nline 20\n"))
    await discard(trees, [{ path: 'a.txt', hunks: [first] }])
    expect(read('a.txt')).toContain("a person's line\n")
    expect(read('a.txt')).toContain('AGENT 36\n')
    expect(read('a.txt')).not.toContain('AGENT 3\n')
  })

  test('a hunk that the difference does not have is refused', async () => {
    const trees = await turn(() => repository.write('a.txt', twoChanges()))
    const made = { oldStart: 1, newStart: 1, lines: ['-line 1', '+made up'] }
    await expect(discard(trees, [{ path: 'a.txt', hunks: [made] }])).rejects.toMatchObject({
      code: 'review-refused',
    })
    await expect(discard(trees, [{ path: '../outside.txt' }])).rejects.toBeInstanceOf(Error)
    await expect(discard(trees, [])).rejects.toMatchObject({ code: 'review-refused' })
    expect(read('a.txt')).toBe(twoChanges())
  })

  test('undo is refused when the file changed after the discard', async () => {
    const trees = await turn(() => repository.write('a.txt', twoChanges()))
    const move = await discard(trees, [{ path: 'a.txt' }])
    repository.write('a.txt', 'a person\n')
    await expect(new FileMoves(opened, scope).undo(move.id)).rejects.toThrow('a.txt changed since.')
    expect(read('a.txt')).toBe('a person\n')
    await expect(new FileMoves(opened, scope).undo('nothing-ff')).rejects.toMatchObject({
      code: 'review-missing',
    })
  })

  test('keeps the line endings of a check-out that converts them', async () => {
    repository.write('.gitattributes', '*.txt text eol=crlf\n')
    repository.run('add', '.gitattributes')
    repository.run('commit', '-qm', 'line endings')
    const crlf = (lines: string) => lines.replaceAll('\n', '\r\n')
    repository.write('a.txt', crlf(text(LINES)))
    const trees = await turn(() => repository.write('a.txt', crlf(twoChanges())))
    const [first = NONE] = await hunksOf(trees, 'a.txt')
    const move = await discard(trees, [{ path: 'a.txt', hunks: [first] }])
    expect(read('a.txt')).toBe(crlf(text(LINES.map((line, i) => (i === 35 ? 'AGENT 36' : line)))))
    await new FileMoves(opened, scope).undo(move.id)
    expect(read('a.txt')).toBe(crlf(twoChanges()))
  })

  test('of a project below the top of its repository', async () => {
    opened = await open(path.join(repository.root, 'src'))
    const trees = await turn(() => repository.write('src/gone.txt', 'changed\n'))
    await discard(trees, [{ path: 'gone.txt' }])
    expect(read('src/gone.txt')).toBe('to be deleted\n')
  })

  test('runs no filter, hook or merge driver of the repository', async () => {
    const mark = path.join(repository.root, '..', 'ran')
    repository.run('config', 'filter.evil.clean', `touch ${mark}; cat`)
    repository.run('config', 'filter.evil.smudge', `touch ${mark}; cat`)
    repository.run('config', 'filter.evil.process', `touch ${mark}`)
    repository.run('config', 'diff.evil.textconv', `touch ${mark}; cat`)
    repository.run('config', 'diff.evil.command', `touch ${mark}`)
    repository.run('config', 'core.fsmonitor', `touch ${mark}`)
    repository.write('.git/hooks/reference-transaction', `#!/bin/sh\ntouch ${mark}\n`)
    chmodSync(path.join(repository.root, '.git/hooks/reference-transaction'), 0o755)
    repository.write('.gitattributes', '* filter=evil diff=evil\n')
    opened = await open()
    const trees = await turn(() => repository.write('a.txt', twoChanges()))
    const move = await discard(trees, [{ path: 'a.txt' }])
    await new FileMoves(opened, scope).undo(move.id)
    expect(read('a.txt')).toBe(twoChanges())
    expect(existsSync(mark)).toBe(false)
  })
})

describe('back to before a turn', () => {
  test('restores what the turns changed, keeps what nobody but a person changed, and can be undone', async () => {
    const first = await turn(() => {
      repository.write('a.txt', twoChanges())
      repository.write('made.txt', 'by the agent\n')
    })
    repository.write('mine.txt', 'a person\n')
    const second = await turn(() => {
      repository.write('made.txt', 'by the agent, again\n')
      rmSync(path.join(repository.root, 'src/gone.txt'))
    })
    const back = { turns: [first, second], stateFolder }
    expect(await planBack(opened, back)).toMatchObject({
      files: ['a.txt', 'made.txt', 'src/gone.txt'],
      changedSince: [],
    })
    const move = await goBack(opened, new FileMoves(opened, scope), {
      ...back,
      overwrite: [],
      what: 'Back',
      cause,
    })
    expect(repository.run('status', '--porcelain')).toBe('?? mine.txt\n')
    await new FileMoves(opened, scope).undo(move?.id ?? '')
    expect(await snapshot()).toBe(second.after)
    const one = await goBack(opened, new FileMoves(opened, scope), {
      turns: [second],
      stateFolder,
      overwrite: [],
      what: 'Back',
      cause,
    })
    expect(one?.files).toEqual(['made.txt', 'src/gone.txt'])
    expect(read('made.txt')).toBe('by the agent\n')
    expect(read('a.txt')).toBe(twoChanges())
  })

  test('shows files that a person changed since, and overwrites only those that are named', async () => {
    const first = await turn(() => {
      repository.write('a.txt', 'agent\n')
      repository.write('b.txt', 'agent\n')
      repository.write('c.txt', 'agent\n')
    })
    repository.write('b.txt', 'a person between the turns\n')
    const second = await turn(() => repository.write('b.txt', 'agent again\n'))
    repository.write('a.txt', 'a person after the turns\n')
    const back = { turns: [first, second], stateFolder }
    expect(await planBack(opened, back)).toMatchObject({
      files: ['a.txt', 'b.txt', 'c.txt'],
      changedSince: ['a.txt', 'b.txt'],
    })
    await goBack(opened, new FileMoves(opened, scope), { ...back, overwrite: [], what: 'Back', cause })
    expect(read('a.txt')).toBe('a person after the turns\n')
    expect(read('b.txt')).toBe('agent again\n')
    expect(existsSync(path.join(repository.root, 'c.txt'))).toBe(false)
    await goBack(opened, new FileMoves(opened, scope), { ...back, overwrite: ['a.txt'], what: 'Back', cause })
    expect(read('a.txt')).toBe(text(LINES))
    await expect(
      goBack(opened, new FileMoves(opened, scope), { ...back, overwrite: ['other'], what: '', cause }),
    ).rejects.toMatchObject({
      code: 'review-refused',
    })
  })
})

describe('a move that fails', () => {
  /** The content of b.txt cannot be read, so the move fails after a.txt was written. */
  async function unreadable(): Promise<{ from: string; to: string; mend: () => void }> {
    const tree = () => repository.run('write-tree').trim()
    repository.write('b.txt', 'b\n')
    repository.run('add', '.')
    const from = tree()
    repository.write('a.txt', 'changed\n')
    repository.write('b.txt', `${'x'.repeat(100)}\n`)
    repository.run('add', '.')
    const to = tree()
    repository.run('read-tree', from)
    repository.run('checkout-index', '--all', '--force')
    const id = repository.run('rev-parse', `${to}:b.txt`).trim()
    const object = path.join(repository.root, '.git/objects', id.slice(0, 2), id.slice(2))
    renameSync(object, `${object}.away`)
    return { from, to, mend: () => renameSync(`${object}.away`, object) }
  }
  const moving = () => repository.run('for-each-ref', '--format=%(refname)', 'refs/chirality').trim()

  test('leaves nothing behind, and does not block the next one', async () => {
    const { from, to, mend } = await unreadable()
    const moves = new FileMoves(opened, scope)
    const change = { from, to, what: 'Change', cause: { kind: 'discard' } } as const
    await expect(moves.move(change)).rejects.toThrow('is missing')
    expect([read('a.txt'), read('b.txt')]).toEqual([text(LINES), 'b\n'])
    expect(moving()).toBe('')
    mend()
    await moves.move(change)
    expect(read('a.txt')).toBe('changed\n')
  })

  test('because of what belongs to it besides the files, brings the files back, and undo that fails too', async () => {
    repository.write('a.txt', 'agent\n')
    const trees = { from: await snapshotOf('agent\n'), to: await snapshotOf(text(LINES)) }
    let failing = true
    const settled: unknown[] = []
    const moves = new FileMoves(opened, scope, async begun => {
      settled.push(begun)
      if (failing) throw new Error('no conversation')
    })
    await expect(moves.move({ ...trees, what: 'Back', cause })).rejects.toThrow('no conversation')
    expect(read('a.txt')).toBe('agent\n')
    expect(moving()).toBe('')
    failing = false
    const { id } = await moves.move({ ...trees, what: 'Back', cause })
    expect(read('a.txt')).toBe(text(LINES))
    failing = true
    await expect(moves.undo(id)).rejects.toThrow('no conversation')
    expect(read('a.txt')).toBe(text(LINES))
    expect(await moves.list()).toMatchObject([{ id, state: 'done', cause }])
    failing = false
    await moves.undo(id)
    expect(await moves.list()).toMatchObject([{ id, state: 'undone', cause }])
    expect(settled.at(-1)).toEqual({ cause, direction: 'undo' })
  })

  test('is finished by the next one, with what belongs to it, if it could not be taken back', async () => {
    repository.write('a.txt', 'agent\n')
    const [agent, first] = [await snapshotOf('agent\n'), await snapshotOf(text(LINES))]
    // State left by a process that was killed after the refs: the files are as before.
    const commit = (tree: string, parent: string, message: string) =>
      repository.run('commit-tree', tree, '-p', parent, '-m', message).trim()
    const before = commit(agent, 'HEAD', 'Before')
    const after = commit(first, before, `Back\n\n${JSON.stringify(cause)}`)
    for (const ref of [`moves/${scope}/1-aa`, `moving/${scope}`])
      repository.run('update-ref', `refs/chirality/${ref}`, after)
    const settled: unknown[] = []
    const moves = new FileMoves(opened, scope, async begun => void settled.push(begun))
    await moves.undo('1-aa')
    expect(settled).toEqual([
      { cause, direction: 'do' },
      { cause, direction: 'undo' },
    ])
    expect(read('a.txt')).toBe('agent\n')
    repository.run('update-ref', `refs/chirality/moving/${scope}`, 'HEAD')
    await expect(moves.redo('1-aa')).rejects.toThrow(
      `To give it up: git update-ref -d refs/chirality/moving/${scope}`,
    )
  })

  /** A tree with this content of a.txt, without changing the file. */
  async function snapshotOf(content: string): Promise<string> {
    const now = read('a.txt')
    repository.write('a.txt', content)
    repository.run('add', 'a.txt')
    const tree = repository.run('write-tree').trim()
    repository.run('reset', '-q')
    repository.write('a.txt', now)
    return tree
  }
})
