import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { blameFile, findRepository, type TurnPoint } from '../src/index.ts'
import { median, timed } from './measures.ts'

const LINES = 5000
const TURNS = 500
const OTHERS = 50
const RUNS = 5
const FILE = 'big.ts'

/**
 * How long it takes to say who wrote each line of a file of 5,000 lines after 500 turns, and whether other sessions make
 * it slower.
 */
export async function blameRows(): Promise<BenchRow[]> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-bench-')))
  try {
    const root = path.join(folder, 'shop')
    const stateFolder = path.join(folder, 'state')
    mkdirSync(path.join(stateFolder, 'objects'), { recursive: true })
    const git = (args: string[], input = '') =>
      execFileSync('git', ['-c', 'user.name=me', '-c', 'user.email=me@example', ...args], {
        cwd: root,
        input,
        encoding: 'utf8',
        maxBuffer: 2 ** 30,
      })
    mkdirSync(root)
    git(['init', '-q', '-b', 'main'])
    writeFileSync(
      path.join(root, FILE),
      text(Array.from({ length: LINES }, (_, i) => `line ${i} of the beginning`)),
    )
    git(['add', '.'])
    git(['commit', '-qm', 'first'])
    const repository = await findRepository(root)
    if (repository === undefined) throw new Error('no repository')

    const content = readFileSync(path.join(root, FILE))
    const own = pointsOf({ name: 'own', turns: TURNS, lines: content.toString('utf8').trimEnd().split('\n') })
    const ask = (places: string[]) =>
      blameFile(repository, {
        stateFolder,
        place: 'project',
        places,
        pointsOf: async () => [],
        points: own.points,
        running: new Set<string>(),
        file: FILE,
        content: Buffer.from(own.content),
      })
    const first = await timed(() => ask(['project']))
    const again = await typical(() => ask(['project']))

    const places = ['project']
    for (let other = 0; other < OTHERS; other += 1) {
      const place = `other-${other}`
      places.push(place)
      const { points, content: theirs } = pointsOf({ name: place, turns: 20, lines: ['a', 'b', 'c'] })
      const request = {
        stateFolder,
        place,
        places: [place],
        pointsOf: async () => [],
        points,
        running: new Set<string>(),
      }
      await blameFile(repository, { ...request, file: FILE, content: Buffer.from(theirs) })
    }
    const beside = await typical(() => ask(places))
    const seconds = (ms: number) => ms / 1000
    const size = `${LINES} lines, ${TURNS} turns`
    return [
      benchRow({
        name: 'blame, first time, in seconds',
        ratio: seconds(first.ms),
        bar: 1,
        better: 'lower',
        detail: `${size}, chain made: ${first.ms.toFixed(0)} ms, ${first.result.length} groups`,
      }),
      benchRow({
        name: 'blame, in seconds',
        ratio: seconds(again),
        bar: 1,
        better: 'lower',
        detail: `${size}: ${again.toFixed(0)} ms`,
      }),
      benchRow({
        name: 'blame beside other sessions, of alone',
        ratio: beside / again,
        bar: 1.25,
        better: 'lower',
        detail: `${OTHERS} other work folders: ${beside.toFixed(0)} ms`,
      }),
    ]

    /** Each turn changes ten places of the file, and a person one line after it. */
    function pointsOf({ name, turns, lines }: { name: string; turns: number; lines: string[] }) {
      const contents: string[] = []
      const now = [...lines]
      const change = (by: string, count: number) => {
        for (let i = 0; i < count; i += 1) now[(contents.length * 997 + i * 331) % now.length] = `${by} ${i}`
        contents.push(text(now))
      }
      contents.push(text(now))
      for (let turn = 0; turn < turns; turn += 1) {
        change(`${name} turn ${turn}`, 10)
        change(`person after ${turn}`, 1)
      }
      const trees = treesOf(contents)
      const points: TurnPoint[] = Array.from({ length: turns }, (_, turn) => [
        { turn: `${name}/${turn}`, when: 'before' as const, at: turn * 2 + 1, tree: trees[turn * 2] ?? '' },
        {
          turn: `${name}/${turn}`,
          when: 'after' as const,
          at: turn * 2 + 2,
          tree: trees[turn * 2 + 1] ?? '',
        },
      ]).flat()
      return { points, content: contents.at(-1) ?? '' }
    }

    function treesOf(contents: readonly string[]): string[] {
      const files = contents.map((content, index) => {
        const file = path.join(folder, `content-${index}`)
        writeFileSync(file, content)
        return file
      })
      const blobs = git(['hash-object', '-w', '--stdin-paths'], `${files.join('\n')}\n`)
        .trim()
        .split('\n')
      const listed = blobs.map(blob => `100644 blob ${blob}\t${FILE}\n`).join('\n')
      return git(['mktree', '--batch'], listed).trim().split('\n')
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function text(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}

async function typical(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let run = 0; run < RUNS; run += 1) times.push((await timed(work)).ms)
  return median(times)
}
