// The engine's own part of an iteration and of a task, here and in another clone, in turn on the same machine. The clone
// needs its dependencies and no build: `node --import tsx --conditions=@chirality/source bench/overhead.ts CLONE [ROUNDS]`.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { SessionHost } from '@chirality/sessions'

import * as loops from '../src/index.ts'
import { InstantAgent } from '../test/support/instant-agent.ts'

interface Overhead {
  /** From the end of a turn to the begin of the next, without the checks. */
  iterationMs: number
  /** From the begin of a task to its merge, without its turn. Its check does nothing. */
  taskMs: number
}

const ITERATIONS = 8
const [clone, rounds = '7'] = process.argv.slice(2)
if (clone === undefined) console.log(JSON.stringify(await measure()))
else compare(path.resolve(clone), Number(rounds))

function compare(other: string, times: number): void {
  const here = path.join(import.meta.dirname, '..')
  const there = path.join(other, 'packages', 'loops')
  const copy = path.join(there, 'bench', 'overhead.copy.ts')
  copyFileSync(import.meta.filename, copy)
  const run = (folder: string, file: string): Overhead => {
    const args = ['--import', 'tsx', '--conditions=@chirality/source', file]
    return JSON.parse(execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }))
  }
  const found: Record<'here' | 'there', Overhead[]> = { here: [], there: [] }
  try {
    for (let round = 0; round < times; round += 1) {
      found.there.push(run(there, copy))
      found.here.push(run(here, import.meta.filename))
    }
  } finally {
    rmSync(copy)
  }
  for (const part of ['iterationMs', 'taskMs'] as const) {
    const [now, then] = [found.here, found.there].map(all => middle(all.map(one => one[part])))
    const pairs = found.here.map((one, at) => one[part] / (found.there[at]?.[part] ?? Number.NaN))
    console.log(
      `${part}: ${now} here, ${then} there; the ratios ${pairs.map(one => one.toFixed(2)).join(' ')}, in the middle ${middle(pairs).toFixed(2)}`,
    )
  }
}

async function measure(): Promise<Overhead> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-bench-')))
  const project = path.join(folder, 'project')
  const home = path.join(folder, 'home')
  mkdirSync(project)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=me', '-c', 'user.email=me@example', ...args], { cwd: project })
  git('init', '-q', '-b', 'main')
  writeFileSync(path.join(project, 'README.md'), 'A project.\n')
  const list = path.join(project, 'TASKS.md')
  const tasks = Array.from({ length: 4 }, (_, n) => `- [ ] Task ${n + 1}\n  checks: test -e README.md\n`)
  writeFileSync(list, `---\nmax_failures: 9\n---\n- [ ] Task 0\n  checks: exit 1\n${tasks.join('')}`)
  git('add', '.')
  git('commit', '-qm', 'First')
  const harnesses = new HarnessRegistry<SessionHarness>()
  harnesses.register(new InstantAgent())
  const host = new SessionHost({ harnesses, address: 'bench', home })
  try {
    const book = new loops.LoopBook(project, home)
    const loop = await book.start(host, list, { settings: { max_attempts: ITERATIONS } })
    await loop.run()
    return overheadOf(await entriesOf(book, loop.state.loopId))
  } finally {
    await host.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** An older clone reads them otherwise. */
async function entriesOf(book: loops.LoopBook, loopId: string): Promise<loops.Stamped[]> {
  if ('entries' in book) return book.entries(loopId)
  const { readJournal } = loops as unknown as { readJournal(folder: string): { entries: loops.Stamped[] } }
  return readJournal((book as loops.LoopBook).folder(loopId)).entries
}

function overheadOf(entries: readonly loops.Stamped[]): Overhead {
  const gaps: number[] = []
  const tasks: number[] = []
  let [ended, began, turn, checks] = [Number.NaN, Number.NaN, 0, 0]
  for (const entry of entries) {
    const at = Date.parse(entry.at)
    if (entry.type === 'task:start') [began, turn, checks] = [at, 0, 0]
    if (entry.type === 'iteration:start') {
      if (entry.n > 1) gaps.push(at - ended - checks)
      turn -= at
    }
    if (entry.type === 'iteration:end') [ended, turn] = [at, turn + at]
    if (entry.type === 'checks:end') checks = entry.results.reduce((sum, { ms }) => sum + ms, 0)
    if (entry.type === 'task:merged') tasks.push(at - began - turn - checks)
  }
  return { iterationMs: middle(gaps), taskMs: middle(tasks) }
}

function middle(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
