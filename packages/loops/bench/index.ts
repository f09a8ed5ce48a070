// What the engine itself costs: an iteration and a whole task beside 1,000 others, the replay of their journal, and memory
// while 1,000 tasks are worked through. `index.ts 100`: fewer for the memory.
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { SessionHarness } from '@chirality/core'
import { HarnessRegistry } from '@chirality/runner'
import { SessionHost } from '@chirality/sessions'
import { benchRow, reportBench } from '../../core/bench/report.ts'
import { type JournalEntry, LoopBook, LoopStore, parseTaskList, type Stamped } from '../src/index.ts'
import { InstantAgent } from '../test/support/instant-agent.ts'

const TASKS = 1_000
const ROUNDS = 5
const ITERATIONS = 6
const RUN_TASKS = Number(process.argv[2] ?? TASKS)
const collect = global.gc
if (collect === undefined) throw new Error('run with --expose-gc')

let lists = 0
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-bench-')))
const project = path.join(folder, 'project')
mkdirSync(project)
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=me', '-c', 'user.email=me@example', ...args], { cwd: project })
git('init', '-q', '-b', 'main')
writeFileSync(path.join(project, 'README.md'), 'A project.\n')
git('add', '.')
git('commit', '-qm', 'First')

const harnesses = new HarnessRegistry<SessionHarness>()
harnesses.register(new InstantAgent())
const home = path.join(folder, 'home')
const host = new SessionHost({ harnesses, address: 'bench', home })
const book = new LoopBook(project, home)
try {
  const small: Overhead[] = []
  const large: Overhead[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    small.push(await overhead(0))
    large.push(await overhead(TASKS - 2))
  }
  const iteration = median(large.map(one => one.iterationMs))
  const alone = median(small.map(one => one.iterationMs))
  const task = median(large.map(one => one.taskMs))
  const taskAlone = median(small.map(one => one.taskMs))
  const bare = median(large.map(one => one.gitMs))
  const replay = await replayOf(median)
  const memory = await memoryOf(RUN_TASKS)
  reportBench('@chirality/loops', [
    benchRow({
      name: `an iteration beside ${TASKS} tasks, of 150 ms`,
      ratio: iteration / 150,
      bar: 1,
      better: 'lower',
      detail: `${iteration.toFixed(0)} ms without agent and checks; a bare git process took ${bare.toFixed(0)} ms`,
    }),
    benchRow({
      name: `an iteration beside ${TASKS} tasks, of one beside two`,
      ratio: iteration / alone,
      bar: 1.2,
      better: 'lower',
      detail: `${iteration.toFixed(1)} against ${alone.toFixed(1)} ms`,
    }),
    benchRow({
      name: `a task beside ${TASKS} tasks, of one beside two`,
      ratio: task / taskAlone,
      bar: 1.2,
      better: 'lower',
      detail: `worktree to merge: ${task.toFixed(0)} against ${taskAlone.toFixed(0)} ms`,
    }),
    benchRow({
      name: `journal of ${TASKS} tasks, replay in seconds`,
      ratio: replay.ms / 1000,
      bar: 1,
      better: 'lower',
      detail: `${replay.entries} entries, ${(replay.bytes / 1e6).toFixed(1)} MB: ${replay.ms.toFixed(0)} ms`,
    }),
    benchRow({
      name: 'memory of a proved task, of 4 KB',
      ratio: memory.perTask / 4_096,
      bar: 1,
      better: 'lower',
      detail: `${memory.tasks} tasks, heap ${mb(memory.before)} to ${mb(memory.after)}, ${memory.ms.toFixed(0)} ms a task`,
    }),
  ])
} finally {
  await host.close()
  rmSync(folder, { recursive: true, force: true })
}

interface Overhead {
  iterationMs: number
  taskMs: number
  /** Of one git process that does nothing, for a machine that does other things, too. */
  gitMs: number
}

/** A task that is not proved in six iterations, and one that is at once, in a list with so many that are done. */
async function overhead(done: number): Promise<Overhead> {
  const list = writeList(done + 2, n => (n === done ? '  checks: exit 1\n' : ''))
  const { state } = await book.start(host, list, { allowDirty: true, settings: { max_attempts: ITERATIONS } })
  const entries = doneEntries(list, done, state.base)
  const store = new LoopStore(project, home)
  const journal = store.journal(state.loopId, (await store.read(state.loopId))?.journal)
  journal.add(...entries)
  journal.close()
  await (await book.resume(host, state.loopId)).run()
  const all = (await book.entries(state.loopId)).slice(-100)
  const gaps: number[] = []
  let ended: number | undefined
  let checksMs = 0
  for (const entry of all) {
    if (entry.type === 'iteration:start' && ended !== undefined && entry.n > 1)
      gaps.push(Date.parse(entry.at) - ended - checksMs)
    if (entry.type === 'iteration:end') ended = Date.parse(entry.at)
    if (entry.type === 'checks:end') checksMs = entry.results.reduce((sum, { ms }) => sum + ms, 0)
  }
  return { iterationMs: median(gaps), taskMs: taskMs(all), gitMs: await bareGit() }
}

async function bareGit(): Promise<number> {
  const times: number[] = []
  for (let run = 0; run < ITERATIONS; run += 1) {
    const start = performance.now()
    await promisify(execFile)('git', ['write-tree'], { cwd: project })
    times.push(performance.now() - start)
  }
  return median(times)
}

/** From its start to its merge, without its turn. */
function taskMs(entries: readonly Stamped[]): number {
  const merged = entries.findLast(entry => entry.type === 'task:merged')
  const id = merged?.type === 'task:merged' ? merged.task : ''
  const at = (type: JournalEntry['type']) => {
    const found = entries.find(
      entry =>
        entry.type === type &&
        'task' in entry &&
        (entry.task === id || (entry.task as { id?: string }).id === id),
    )
    return found === undefined ? Number.NaN : Date.parse(found.at)
  }
  return at('task:merged') - at('task:start') - (at('iteration:end') - at('iteration:start'))
}

function writeList(count: number, keys: (n: number) => string): string {
  lists += 1
  const file = path.join(project, `TASKS-${lists}.md`)
  const items = Array.from({ length: count }, (_, n) => `- [ ] Task ${n}\n${keys(n)}`)
  writeFileSync(file, `---\nmax_failures: 9\n---\n${items.join('')}`)
  return file
}

/** The journal of the first tasks of a list, each proved by two checks. */
function doneEntries(list: string, count: number, commit: string): JournalEntry[] {
  const { tasks } = parseTaskList(readFileSync(list, 'utf8'), 'TASKS.md')
  const results = ['npm test', 'npm run lint'].map(command => ({
    command,
    exitCode: 0,
    ms: 5_000,
    bytes: 40_000,
    leftBehind: 0,
    tail: 'ok 1 a line of output\n'.repeat(40),
  }))
  const diff = { files: 3, insertions: 120, deletions: 14 }
  const spent = { usd: 0.4, isEstimate: false, tokens: 40_000 }
  return tasks.slice(0, count).flatMap((task): JournalEntry[] => [
    { type: 'task:start', task, sessionId: `s-${task.id}`, worktreeId: `w-${task.id}`, base: commit },
    { type: 'task:setup', task: task.id },
    { type: 'iteration:start', task: task.id, n: 1, fromSeq: 0 },
    { type: 'iteration:end', task: task.id, n: 1, reason: 'completed', spent, pattern: [] },
    { type: 'checks:start', task: task.id, n: 1, marker: 'marker' },
    { type: 'checks:end', task: task.id, n: 1, tree: commit, diff, results },
    { type: 'task:proved', task: task.id, commit, flags: [] },
    { type: 'merge:start', task: task.id, onto: commit },
    { type: 'task:merged', task: task.id, commit },
  ])
}

/** By the last list, which has them all. */
async function replayOf(middle: (values: number[]) => number) {
  const [{ loopId } = { loopId: '' }] = await book.list()
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now()
    await new LoopBook(project, home).find(loopId)
    times.push(performance.now() - start)
  }
  const entries = await book.entries(loopId)
  const bytes = readFileSync(path.join(book.folder(loopId), 'journal.ndjson')).length
  return { ms: middle(times), entries: entries.length, bytes }
}

/** Heap and buffers after a collection, after half of the tasks and after all of them. */
async function memoryOf(tasks: number) {
  const list = writeList(tasks, () => '')
  const heap = () => {
    collect?.()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  let merged = 0
  let before = 0
  let after = 0
  const start = performance.now()
  const loop = await book.start(host, list, {
    allowDirty: true,
    onEntry: ({ type }) => {
      if (type !== 'task:merged') return
      merged += 1
      if (merged === Math.floor(tasks / 2)) before = heap()
      if (merged === tasks) after = heap()
    },
  })
  const { reason, why } = await loop.run()
  if (reason !== 'done') throw new Error(why)
  const perTask = Math.max(0, after - before) / (tasks - Math.floor(tasks / 2))
  return { tasks, before, after, perTask, ms: (performance.now() - start) / tasks }
}

function mb(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
