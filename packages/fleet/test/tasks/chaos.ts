import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedBundle } from '@chirality/fixtures/bundle-program'
import { endMarked, findByMarker } from '@chirality/runner'
import { folder, later } from '../support/fleet.ts'
import { seeded } from '../support/seeded.ts'
import { Marks, taskOf } from './marks.ts'
import type { End, TaskList } from './task-names.ts'

export interface ChaosOptions {
  tasks: number
  seed: number
  /** The data folder of the hub, whose broker runs. */
  hub: string
  /** The data folders of the workers, which joined. */
  workers: Record<string, string>
  /** Kills a broker, which comes back. False if one is away already. */
  killBroker: (random: () => number) => Promise<boolean>
  /** Marks between two kills, on average. */
  marksBetweenKills: number
  /** How often a machine stays away until its work is given up. */
  gone: number
  /** How long a machine may be away. Default: as for users. */
  goneMs?: number
}

export interface ChaosReport {
  seconds: number
  /** Until a worker that was killed answered again, in seconds, without those that are gone. */
  longestAway: number
  kills: { servers: number; machines: number; gone: number; brokers: number; hubs: number }
  begun: number
  /** Tasks that no process ran to its end, or that the hub does not have as done. */
  lost: string[]
  /** Tasks that were run to the end more than once, but for those below. */
  twice: string[]
  /** Tasks that a machine ended which did not come back in time to say so. */
  again: string[]
  /** Work that began twice or ended twice under one name: two machines, or two servers of one, had it. */
  doubled: string[]
  /** Processes of tasks that run still. */
  left: number
}

/**
 * A hub lets workers do tasks while servers, machines with their tasks, brokers and the hub are killed with SIGKILL at
 * random moments and started again. What was run is read from the marks, which none of them writes.
 */
export async function runTasks(options: ChaosOptions): Promise<ChaosReport> {
  const { tasks: count, seed, hub, workers, marksBetweenKills, goneMs } = options
  const random = seeded(seed)
  const place = folder()
  const file = join(place, 'marks')
  const list = join(place, 'list.json')
  const tasks = Array.from({ length: count }, (_, i) => ({ id: `task-${i}`, ms: 100 + random() * 1_500 }))
  writeFileSync(
    list,
    JSON.stringify({ tasks, ...(goneMs === undefined ? {} : { goneMs }) } satisfies TaskList),
  )
  const marks = new Marks(file)
  const [hubProgram = '', workerProgram = ''] = await Promise.all(
    ['task-hub.ts', 'task-worker.ts'].map(name => sharedBundle(join(import.meta.dirname, name))),
  )
  const journal = () => readJournal(join(hub, 'journal.ndjson'))
  const kills = { servers: 0, machines: 0, gone: 0, brokers: 0, hubs: 0 }
  let answers = 0
  const running = new Map<string, ChildProcess>()
  let isOver = false
  let longestAway = 0
  /** One that was started and does not answer yet is not killed again: it would be away for longer than it may. */
  const answering = new Set<string>()
  const start = (name: string): ChildProcess => {
    const home = workers[name]
    const child = home === undefined ? program(hubProgram, [hub, list]) : program(workerProgram, [home, file])
    running.set(name, child)
    const began = performance.now()
    answering.delete(name)
    child.once('message', () => {
      answering.add(name)
      answers += 1
      longestAway = Math.max(longestAway, (performance.now() - began) / 1000)
    })
    return child
  }
  const kill = async (name: string) => {
    const child = running.get(name)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
  later(() => Promise.all([...running.keys()].map(kill)))
  const begunBy = (machine: string) => {
    const ended = new Set(marks.all().flatMap(({ what, work }) => (what === 'end' ? [work] : [])))
    return marks.all().flatMap(one => (one.machine === machine && !ended.has(one.work) ? [one.work] : []))
  }
  const loseMachine = async (name: string) => {
    await kill(name)
    for (const work of begunBy(name)) await endMarked(work)
  }
  const names = Object.keys(workers)
  for (const name of names) start(name)
  const from = performance.now()
  const finished = new Promise<void>((resolve, reject) => {
    const watch = (child: ChildProcess) =>
      child.once('exit', (code, signal) => {
        if (signal === 'SIGKILL') watch(start('hub'))
        else if (code === 0) resolve()
        else reject(new Error(`The hub ended with ${code ?? signal}.`))
      })
    watch(start('hub'))
  })
  finished
    .catch(() => {})
    .finally(() => {
      isOver = true
    })
  let gone: { name: string; work: string[] } | undefined
  let nextKill = marksBetweenKills
  const goneAt = Array.from({ length: options.gone }, (_, i) => ((i + 1) * count * 2) / (options.gone + 2))
  let seen = ''
  let seenAt = performance.now()
  while (!isOver) {
    const now = JSON.stringify([marks.all().length, journal().length, answers])
    if (now !== seen) seenAt = performance.now()
    seen = now
    if (performance.now() - seenAt > HANGS_MS)
      throw new Error(
        `Nothing goes on: ${now} marks, ends and answers, ${JSON.stringify(kills)}, seed ${seed}`,
      )
    if (gone !== undefined) {
      const known = new Set(journal().map(({ work }) => work))
      const isGivenUp = gone.work.every(work => known.has(work))
      if (isGivenUp) {
        start(gone.name)
        gone = undefined
      }
    }
    const there = names.filter(name => name !== gone?.name && answering.has(name))
    const made = marks.all().length
    if (gone === undefined && there.length > 0 && made >= (goneAt[0] ?? Number.POSITIVE_INFINITY)) {
      goneAt.shift()
      kills.gone += 1
      const name = pick(there, random)
      await kill(name)
      const work = begunBy(name)
      for (const one of work) await endMarked(one)
      gone = { name, work }
    } else if (made >= nextKill && there.length > 0) {
      nextKill = made + 1 + Math.floor(random() * 2 * marksBetweenKills)
      const name = pick(there, random)
      const what = random()
      if (what < 0.45) {
        kills.servers += 1
        await kill(name)
        start(name)
      } else if (what < 0.7) {
        kills.machines += 1
        await loseMachine(name)
        start(name)
      } else if (what < 0.92) {
        if (await options.killBroker(random)) kills.brokers += 1
      } else {
        kills.hubs += 1
        await kill('hub')
      }
    }
    await Promise.race([finished.catch(() => {}), sleep(LOOK_MS)])
  }
  await finished
  for (const name of names) await kill(name)
  return {
    ...report({ tasks, marks, ends: journal() }),
    seconds: (performance.now() - from) / 1000,
    longestAway,
    kills,
    left: await left(marks),
  }
}

function report({
  tasks,
  marks,
  ends,
}: {
  tasks: TaskList['tasks']
  marks: Marks
  ends: { work: string; end: End }[]
}): Pick<ChaosReport, 'begun' | 'lost' | 'twice' | 'again' | 'doubled'> {
  const count = (what: 'begin' | 'end', nameOf: (work: string) => string) => {
    const counts = new Map<string, number>()
    for (const mark of marks.all())
      if (mark.what === what) counts.set(nameOf(mark.work), (counts.get(nameOf(mark.work)) ?? 0) + 1)
    return counts
  }
  const run = count('end', taskOf)
  const more = [...run].flatMap(([id, times]) => (times > 1 ? [id] : []))
  const gaveUp = new Set(ends.flatMap(({ work, end }) => (end === 'lost' ? [taskOf(work)] : [])))
  const done = ends.flatMap(({ work, end }) => (end === 'done' ? [taskOf(work)] : []))
  const doubled = (['begin', 'end'] as const).flatMap(what =>
    [...count(what, work => work)].flatMap(([work, times]) => (times > 1 ? [`${work} ${what}`] : [])),
  )
  return {
    begun: marks.all().filter(({ what }) => what === 'begin').length,
    lost: tasks.flatMap(({ id }) => (run.has(id) && done.filter(one => one === id).length === 1 ? [] : [id])),
    twice: more.filter(id => !gaveUp.has(id)),
    again: more.filter(id => gaveUp.has(id)),
    doubled,
  }
}

async function left(marks: Marks): Promise<number> {
  const ended = new Set(marks.all().flatMap(({ what, work }) => (what === 'end' ? [work] : [])))
  const open = marks.all().filter(({ work }) => !ended.has(work))
  const found = await Promise.all(open.map(({ work }) => findByMarker(work)))
  return found.flat().length
}

function program(file: string, args: string[]): ChildProcess {
  return spawn(process.execPath, [file, ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
}

function readJournal(file: string): { work: string; end: End }[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map(line => JSON.parse(line) as { work: string; end: End })
}

function pick<T>(items: readonly T[], random: () => number): T {
  return items[Math.floor(random() * items.length)] as T
}

const LOOK_MS = 20
/** Nothing that a task, the hub or a worker does takes so long, however slow the disk or the machine is. */
const HANGS_MS = 10 * 60_000
/** For the whole run, which ends by itself when nothing goes on. */
export const LONG_MS = 6 * 60 * 60_000
