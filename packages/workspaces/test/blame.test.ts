import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { initRepository, type Repository } from '@chirality/fixtures'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  type BlamedLines,
  blameFile,
  commitsOfTurns,
  fileOfTree,
  findRepository,
  type GitRepository,
  type LineOrigin,
  type PastState,
  stateOfCommit,
  type TurnPoint,
  takeSnapshot,
} from '../src/index.ts'

let repository: Repository
let opened: GitRepository
let stateFolder: string
let clock = 0
let points: TurnPoint[]

beforeEach(async () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-blame-test-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  repository = initRepository(path.join(folder, 'shop'))
  repository.write('a.txt', 'old one\nold two\nold three\n')
  repository.run('add', '.')
  repository.run('commit', '-qm', 'first')
  stateFolder = path.join(folder, 'state')
  mkdirSync(stateFolder)
  opened = await open(repository.root)
  points = []
  clock = 0
})

test('each line is of the turn that wrote it, of a commit, or of nobody that is known', async () => {
  await turn('one', () => repository.write('a.txt', 'old one\nby one\nold three\n'))
  repository.write('a.txt', 'old one\nby one\nby a person\nold three\n')
  await turn('two', () => repository.write('a.txt', 'old one\nby one\nby a person\nold three\nby two\n'))
  repository.write('a.txt', 'now\nold one\nby one\nby a person\nold three\nby two\n')
  const blamed = await blame('a.txt')
  expect(shown(blamed)).toEqual(['between', 'first', 'one', 'between', 'first', 'two'])
  expect(blamed[0]?.origin).toEqual({ kind: 'between', since: 4, until: null })
  expect(blamed[3]?.origin).toEqual({ kind: 'between', since: 2, until: 3 })
  expect(blamed[1]?.origin).toMatchObject({ commit: { author: 'a', subject: 'first' } })
  // A commit by the user does not take the lines from the turns.
  repository.run('commit', '-qam', 'second')
  expect(shown(await blame('a.txt'))).toEqual(['second', 'first', 'one', 'second', 'first', 'two'])
})

test('a file as it was at the beginning or the end of a turn, and at a commit', async () => {
  await turn('one', () => repository.write('a.txt', 'by one\nold two\nold three\n'))
  await point('beside', 'before')
  await turn('two', () => repository.write('a.txt', 'by one\nby two\nold three\n'))
  await point('beside', 'after')
  await turn('three', () => repository.write('a.txt', 'by three\n'))
  const past = async (index: number) => {
    const { tree = '', at: time = 0 } = points[index] ?? {}
    const found = await fileOfTree(opened, { tree, path: 'a.txt', stateFolder })
    return shown(await blame('a.txt', { content: found?.bytes ?? undefined, at: { tree, time: time ?? 0 } }))
  }
  expect(await past(1)).toEqual(['one', 'first', 'first'])
  // The turn beside it ended later: its end is known, so nothing is in doubt.
  expect(await past(4)).toEqual(['one', 'beside+two', 'first'])
  expect(await past(6)).toEqual(['one', 'beside+two', 'first'])
  expect(shown(await blame('a.txt'))).toEqual(['three'])
  const head = await stateOfCommit(opened, 'HEAD')
  const content = Buffer.from(repository.run('show', 'HEAD:a.txt'))
  expect(shown(await blame('a.txt', { content, at: head }))).toEqual(['first', 'first', 'first'])
  expect(await stateOfCommit(opened, 'none')).toBeUndefined()
})

test('turns of two sessions that ran at the same time are both named', async () => {
  await point('one', 'before')
  repository.write('a.txt', 'old one\nalone\n')
  await point('two', 'before')
  repository.write('a.txt', 'old one\nalone\ntogether\n')
  await point('one', 'after')
  repository.write('a.txt', 'old one\nalone\ntogether\nlast\n')
  await point('two', 'after')
  expect(shown(await blame('a.txt'))).toEqual(['first', 'one', 'one+two', 'two'])
})

test('a turn whose end was not recorded is named, but not for sure', async () => {
  await point('cut', 'before')
  repository.write('a.txt', 'old one\nbefore the crash\n')
  await turn('next', () => repository.write('a.txt', 'old one\nbefore the crash\nnext\n'))
  expect(shown(await blame('a.txt'))).toEqual(['first', 'cut?', 'next'])
  await point('runs', 'before')
  repository.write('a.txt', 'old one\nbefore the crash\nnext\nnow\n')
  expect(shown(await blame('a.txt', { running: new Set(['runs']) })).at(-1)).toBe('runs')
  expect(shown(await blame('a.txt')).at(-1)).toBe('runs?')
})

test('a file that is renamed and not committed keeps the commits of its lines', async () => {
  const long = (from: number) => Array.from({ length: 20 }, (_, i) => `line ${i + from}`).join('\n')
  repository.write('lib/view.txt', `${long(0)}\n`)
  repository.run('add', '.')
  repository.run('commit', '-qm', 'second')
  renameSync(path.join(repository.root, 'lib/view.txt'), path.join(repository.root, 'lib/viewer.txt'))
  // Without any turn, before a turn, and after one.
  expect(new Set(shown(await blame('lib/viewer.txt')))).toEqual(new Set(['second']))
  repository.write('lib/viewer.txt', `${long(0)}\nby a person\n`)
  expect(shown(await blame('lib/viewer.txt')).slice(-2)).toEqual(['second', 'between'])
  await turn('one', () => repository.write('lib/viewer.txt', `${long(0)}\nby a person\nby one\n`))
  expect(shown(await blame('lib/viewer.txt')).slice(-3)).toEqual(['second', 'between', 'one'])
  await turn('two', () =>
    renameSync(path.join(repository.root, 'lib/viewer.txt'), path.join(repository.root, 'lib/views.txt')),
  )
  expect(shown(await blame('lib/views.txt')).slice(-3)).toEqual(['second', 'between', 'one'])
  // One that is new has no history to be found.
  repository.write('lib/new.txt', 'new\n')
  expect(shown(await blame('lib/new.txt'))).toEqual(['between'])
})

test('lines keep their turn through renames by a turn and by a person', async () => {
  const long = Array.from({ length: 20 }, (_, i) => `line ${i}`).join('\n')
  await turn('one', () => repository.write('b.txt', `${long}\n`))
  await turn('two', () => renameSync(at('b.txt'), at('c.txt')))
  await turn('three', () => writeFileSync(at('c.txt'), `${long}\nby three\n`))
  renameSync(at('c.txt'), at('d.txt'))
  writeFileSync(at('d.txt'), `${long}\nby three\nby a person\n`)
  expect(shown(await blame('d.txt'))).toEqual([...Array(20).fill('one'), 'three', 'between'])
})

test('lines that came by a merge from the work folder of another session keep their turn', async () => {
  const other = path.join(path.dirname(repository.root), 'other')
  repository.run('worktree', 'add', '-q', '-b', 'side', other)
  const main = opened
  const own = points
  opened = await open(other)
  points = []
  await turn('elsewhere', () => writeFileSync(path.join(other, 'a.txt'), 'old one\nfrom there\nold three\n'))
  expect(shown(await blame('a.txt', { root: other, place: 'side' }))).toEqual(['first', 'elsewhere', 'first'])
  repository.run('-C', other, 'commit', '-qam', 'side work')
  opened = main
  points = own
  await turn('here', () => repository.write('b.txt', 'b\n'))
  repository.run('add', '.')
  repository.run('commit', '-qm', 'main work')
  repository.run('merge', '-q', '--no-edit', 'side')
  const blamed = await blame('a.txt', { places: ['main', 'side'] })
  expect(shown(blamed)).toEqual(['first', 'elsewhere', 'first'])
  expect(blamed[1]?.origin).toMatchObject({ isSure: true, commit: { subject: 'side work' } })
  // Without the states of that work folder the commit is all that is known.
  expect(shown(await blame('a.txt'))).toEqual(['first', 'side work', 'first'])
})

test('turns of a branch that was left and checked out again are still theirs', async () => {
  await turn('one', () => repository.write('a.txt', 'old one\nby one\nold three\n'))
  repository.run('commit', '-qam', 'work')
  repository.run('checkout', '-q', '-b', 'other', 'HEAD~1')
  await turn('two', () => repository.write('b.txt', 'b\n'))
  repository.run('checkout', '-q', 'main')
  await turn('three', () => repository.write('c.txt', 'c\n'))
  expect(shown(await blame('a.txt'))).toEqual(['first', 'one', 'first'])
})

describe('odd files', () => {
  test('names with line breaks, quotes, blanks and leading dashes', async () => {
    const names = ['-rf', 'new\nline.txt', '"quotes" and\ttabs', ' blanks ', 'ünï.txt', ':(glob)*']
    await turn('one', () => names.map(name => repository.write(name, `by one in ${name}\n`)))
    for (const name of names) repository.write(name, `by one in ${name}\nby a person\n`)
    const lines = (name: string) => name.split('\n').map(() => 'one')
    for (const name of names) expect(shown(await blame(name)), name).toEqual([...lines(name), 'between'])
    repository.run('add', '.')
    repository.run('commit', '-qm', 'odd')
    for (const name of names) expect(shown(await blame(name)), name).toEqual([...lines(name), 'odd'])
  })

  test('line endings of Windows, also where git converts them', async () => {
    await turn('one', () => repository.write('crlf.txt', 'one\r\ntwo\r\n'))
    expect(shown(await blame('crlf.txt'))).toEqual(['one', 'one'])
    repository.write('.gitattributes', '*.dos text eol=crlf\n')
    await turn('two', () => repository.write('b.dos', 'one\r\ntwo\r\n'))
    repository.write('b.dos', 'one\r\ntwo\r\nthree\r\n')
    expect(shown(await blame('b.dos'))).toEqual(['two', 'two', 'between'])
  })

  test('a file that is not text or is too large is refused with the reason', async () => {
    await turn('one', () => repository.write('b.bin', 'a\0b\n'))
    await expect(blame('b.bin')).rejects.toThrow('Blame of "b.bin" is not available: it is not text')
    repository.write('large.txt', 'x\n'.repeat(3 * 1024 * 1024))
    await expect(blame('large.txt')).rejects.toMatchObject({ code: 'blame-refused' })
    repository.write('long.txt', '\n'.repeat(200_001))
    await expect(blame('long.txt')).rejects.toThrow('more than 200000 lines')
    repository.write('empty.txt', '')
    expect(await blame('empty.txt')).toEqual([])
  })

  test('a repository before its first commit, an ignored file, and a folder without turns', async () => {
    expect(shown(await blame('a.txt'))).toEqual(['first', 'first', 'first'])
    repository.write('.gitignore', 'secret.txt\n')
    await turn('one', () => repository.write('secret.txt', 'x\n'))
    expect(shown(await blame('secret.txt'))).toEqual(['between'])
    const fresh = initRepository(path.join(path.dirname(repository.root), 'fresh'))
    opened = await open(fresh.root)
    points = []
    await turn('two', () => fresh.write('a.txt', 'by two\n'))
    expect(shown(await blame('a.txt', { root: fresh.root, place: 'fresh' }))).toEqual(['two'])
  })
})

test('nothing that the repository names is run or read', async () => {
  const ran = path.join(path.dirname(repository.root), 'ran')
  repository.run('config', 'diff.evil.textconv', `touch ${ran}; cat`)
  repository.run('config', 'diff.evil.command', `touch ${ran}`)
  repository.run('config', 'filter.evil.clean', `touch ${ran}; cat`)
  repository.run('config', 'blame.ignoreRevsFile', '/dev/zero')
  repository.run('config', 'mailmap.file', '/dev/zero')
  repository.write('.gitattributes', '* diff=evil filter=evil\n')
  opened = await open(repository.root)
  await turn('one', () => repository.write('a.txt', 'by one\n'))
  expect(shown(await blame('a.txt'))).toEqual(['one'])

  // A signed commit, which git would have checked by the program that the repository names.
  const evil = path.join(path.dirname(repository.root), 'evil')
  writeFileSync(evil, `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 })
  repository.run('config', 'log.showSignature', 'true')
  repository.run('config', 'gpg.program', evil)
  repository.run('-c', 'filter.evil.clean=cat', 'commit', '-qam', 'second')
  const signature = 'gpgsig -----BEGIN PGP SIGNATURE-----\n \n aaaa\n -----END PGP SIGNATURE-----\n'
  const plain = repository.run('cat-file', 'commit', 'HEAD')
  repository.write('signed', plain.replace(/^(committer .*\n)/m, `$1${signature}`))
  const signed = repository.run('hash-object', '-t', 'commit', '-w', '--no-filters', 'signed').trim()
  repository.run('update-ref', 'HEAD', signed)
  const asked = { stateFolder, place: 'main', places: ['main'], pointsOf: async () => [], points, limit: 10 }
  expect(await commitsOfTurns(opened, asked)).toMatchObject([{ commit: signed, added: 1 }])
  expect(() => readFileSync(ran)).toThrow()
})

test('a damaged file of points is made again, and what is kept stays if a session is deleted', async () => {
  await turn('one', () => repository.write('a.txt', 'by one\n'))
  await blame('a.txt')
  const file = path.join(stateFolder, 'blame', 'chain-main.json')
  const whole = readFileSync(file, 'utf8')
  writeFileSync(file, `${whole.slice(0, -20)}`)
  expect(shown(await blame('a.txt'))).toEqual(['one'])
  expect(readFileSync(file, 'utf8')).toBe(whole)
  points = []
  expect(shown(await blame('a.txt'))).toEqual(['one'])
})

test('a hundred turns at once, with names that the file had before and after the middle of them', async () => {
  const lines: string[] = []
  const files = Array.from({ length: 130 }, (_, index) => {
    lines.splice((index * 7) % (lines.length + 1), 0, `line of ${index}`)
    repository.write(`made-${index}`, lines.map(line => `${line}\n`).join(''))
    return at(`made-${index}`)
  })
  const git = (args: string[], input: string) =>
    execFileSync('git', args, { cwd: repository.root, input, encoding: 'utf8' }).trim().split('\n')
  const blobs = git(['hash-object', '-w', '--stdin-paths'], files.join('\n'))
  const trees = blobs.map((blob, index) => {
    const name = index < 30 ? 'first.txt' : index < 100 ? 'second.txt' : 'third.txt'
    const names = [name, 'same.txt'].sort()
    return names.map(each => `100644 blob ${blob}\t${each}\n`).join('')
  })
  const ids = git(['mktree', '--batch'], trees.join('\n'))
  points = ids.slice(1).flatMap((tree, index) => [
    { turn: `turn-${index + 1}`, when: 'before', at: 2 * index, tree: ids[index] ?? '' },
    { turn: `turn-${index + 1}`, when: 'after', at: 2 * index + 1, tree },
  ])
  for (const file of ['same.txt', 'third.txt']) {
    repository.write(file, lines.map(line => `${line}\n`).join(''))
    const expected = lines.map(line => line.replace('line of ', 'turn-').replace(/^turn-0$/, 'between'))
    expect(shown(await blame(file))).toEqual(expected)
  }
})

const ROUNDS = process.env.CHIRALITY_TEST_ALL ? 20 : 1

test('random changes by turns, by people and by commits: each line is of who wrote it', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const seed = Math.floor(Math.random() * 2 ** 31)
    const random = randomOf(seed)
    const place = `random-${round}`
    const file = `${place}.txt`
    points = []
    let lines: { text: string; by: string }[] = []
    let made = 0
    const edit = (by: string) => {
      for (let i = 0; i < 1 + random(4); i += 1) {
        const where = random(lines.length + 1)
        const gone = random(3) === 0 ? random(3) : 0
        const fresh = Array.from({ length: random(4) }, () => ({ text: `${seed}-${made++}`, by }))
        lines = [...lines.slice(0, where), ...fresh, ...lines.slice(where + gone)]
      }
      repository.write(file, lines.map(({ text }) => `${text}\n`).join(''))
    }
    for (let step = 0; step < 8; step += 1) {
      const name = `turn-${round}-${step}`
      await turn(name, () => edit(name))
      if (random(2) === 0) edit('between')
      // The next call uses the stored result.
      if (random(4) === 0) await blame(file, { place })
      if (random(3) === 0) {
        repository.run('add', '.')
        repository.run('commit', '-qm', `commit-${round}-${step}`, '--allow-empty')
        // A person's lines that are committed are the commit's.
        for (const line of lines) if (line.by === 'between') line.by = `commit-${round}-${step}`
      }
    }
    const blamed = await blame(file, { place })
    expect(shown(blamed), `seed ${seed}`).toEqual(lines.map(({ by }) => by))
  }
})

async function open(root: string): Promise<GitRepository> {
  const found = await findRepository(root)
  if (found === undefined) throw new Error('no repository')
  return found
}

function at(file: string): string {
  return path.join(repository.root, file)
}

async function point(name: string, when: 'before' | 'after'): Promise<void> {
  clock += 1
  points.push({ turn: name, when, at: clock, tree: (await takeSnapshot(opened, stateFolder)).tree })
}

async function turn(name: string, work: () => void): Promise<void> {
  await point(name, 'before')
  work()
  await point(name, 'after')
}

interface Asked {
  root?: string
  place?: string
  places?: string[]
  running?: Set<string>
  content?: Buffer | undefined
  at?: PastState | undefined
}

function blame(
  file: string,
  { root = repository.root, place = 'main', places = [place], running = new Set(), ...asked }: Asked = {},
): Promise<BlamedLines[]> {
  const content = asked.content ?? readFileSync(path.join(root, file))
  return blameFile(opened, {
    stateFolder,
    place,
    places,
    pointsOf: async () => [],
    points,
    running,
    file,
    content,
    at: asked.at,
  })
}

/** Each line by one word. */
function shown(blamed: readonly BlamedLines[]): string[] {
  return blamed.flatMap(({ count, origin }) => Array<string>(count).fill(word(origin)))
}

function word(origin: LineOrigin): string {
  if (origin.kind === 'commit') return origin.commit.subject
  if (origin.kind === 'between') return 'between'
  return `${origin.turns.join('+')}${origin.isSure ? '' : '?'}`
}

/** The same numbers for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * below)
  }
}
