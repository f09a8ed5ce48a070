import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { cloneLargeRepository, LARGE, largeFile, largeText, type Repository } from '@chirality/fixtures'
import { TurnChanges } from '@chirality/workspaces'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { median } from './statistics.ts'

/** `--turns=500` measures a long session: at a high load it takes a quarter of an hour. */
const [, TURNS = 60] = process.argv.flatMap(word => /^--turns=(\d+)$/.exec(word) ?? []).map(Number)
/** At the beginning and at the end. */
const MEASURED = 20
/** Files that the agent works on. */
const EDITED = 20

/**
 * What a turn in a large repository waits for: the files are recorded before the agent is asked, and again when the turn is
 * over. Beside `git status` in the same state.
 */
export async function snapshotRows(): Promise<BenchRow[]> {
  if (TURNS < 2 * MEASURED || TURNS > MAX_TURNS)
    throw new Error(`--turns is a number from ${2 * MEASURED} to ${MAX_TURNS}.`)
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-bench-')))
  try {
    const repository = cloneLargeRepository(path.join(folder, 'shop'))
    const status = async () => repository.run('status', '--porcelain')
    // Git compares the content of files that are as new as its index.
    await new Promise(resolve => setTimeout(resolve, 1500))
    await status()
    const turns = new RecordedTurns(repository)
    const first = await timed(() => turns.before())
    await turns.after()
    const rounds = async (): Promise<Rounds> => {
      const times: Rounds = { before: [], after: [], status: [] }
      for (let round = 0; round < MEASURED; round += 1) {
        times.before.push(await timed(() => turns.before()))
        turns.edit()
        times.after.push(await timed(() => turns.after()))
        times.status.push(await timed(status))
      }
      return times
    }
    const refs = () => repository.run('for-each-ref').length
    const refsBefore = refs()
    const early = await rounds()
    const sizeEarly = sizeOf(repository)
    while (turns.count < TURNS - MEASURED) {
      await turns.before()
      turns.edit()
      await turns.after()
    }
    const late = await rounds()
    const sizeLate = sizeOf(repository)
    if (refs() !== refsBefore) throw new Error('The snapshots left refs.')
    const of = (which: keyof Rounds, times: Rounds, by: By = 'ms') => typical(times[which], by)
    const row = (name: string, ratio: (by: By) => number, bar: number, detail: string) =>
      benchRow({
        ...{ name, ratio: ratio('ms'), bar, better: 'lower' },
        detail: `${detail}; CPU ${ratio('cpuMs').toFixed(2)}`,
      })
    const ms = (value: number) => `${value.toFixed(0)} ms`
    const both = (times: Rounds, by: By = 'ms') => of('before', times, by) + of('after', times, by)
    const perTurn = (sizeLate.objects - sizeEarly.objects) / (TURNS - MEASURED)
    return [
      row(
        'snapshot around a turn, the mean of both, of git status',
        by => both(early, by) / 2 / of('status', early, by),
        1.5,
        `${LARGE.files} files: ${ms(of('before', early))} and ${ms(of('after', early))} against ${ms(of('status', early))}`,
      ),
      row(
        'snapshot after a turn alone, of git status',
        by => of('after', early, by) / of('status', early, by),
        1.5,
        `${ms(of('after', early, 'cpuMs'))} of CPU against ${ms(of('status', early, 'cpuMs'))}`,
      ),
      row(
        'first snapshot of a work tree, of git status',
        by => first[by] / of('status', early, by),
        4,
        `once for each commit that is checked out: ${ms(first.ms)}`,
      ),
      row(
        `both snapshots of the last ${MEASURED} of ${turns.count} turns, of the first ${MEASURED}`,
        by => both(late, by) / both(early, by),
        1.2,
        `${ms(both(late))} against ${ms(both(early))}, CPU ${ms(both(late, 'cpuMs'))} against ${ms(both(early, 'cpuMs'))}, git status itself ${(of('status', late, 'cpuMs') / of('status', early, 'cpuMs')).toFixed(2)}; ${sizeLate.objects} objects, ${perTurn.toFixed(1)} for each turn, ${(sizeLate.bytes / 1024 / 1024).toFixed(1)} MB, no refs`,
      ),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const MAX_TURNS = 2000

type By = 'ms' | 'cpuMs'

/** All that is kept of the turns, but for the index, which is made once for each commit. */
function sizeOf({ root }: Repository): { objects: number; bytes: number } {
  const folder = path.join(root, '.chirality', 'state', 'snapshots')
  const files = readdirSync(folder, { withFileTypes: true, recursive: true }).filter(file => file.isFile())
  const places = files.map(({ parentPath, name }) => path.join(parentPath, name))
  const kept = places.filter(place => !place.includes(`${path.sep}indexes${path.sep}`))
  const objects = kept.filter(place => place.includes(`${path.sep}objects${path.sep}`)).length
  return { objects, bytes: kept.reduce((sum, place) => sum + statSync(place).size, 0) }
}

type Rounds = Record<'before' | 'after' | 'status', Timed[]>

/** Turns of one session, as their host records them. */
class RecordedTurns {
  count = 0
  readonly #repository: Repository
  readonly #changes = new TurnChanges()
  readonly #place: { sessionId: string; projectRoot: string }

  constructor(repository: Repository) {
    this.#repository = repository
    this.#place = { sessionId: 'b3f7a1c2-0000-4000-8000-000000000001', projectRoot: repository.root }
  }

  async before(): Promise<void> {
    this.count += 1
    const turn = { turnId: `turn-${this.count}`, workFolder: this.#repository.root }
    const problem = await this.#changes.begin({
      ...this.#place,
      ...turn,
      signal: new AbortController().signal,
    })
    if (problem !== undefined) throw new Error(problem)
  }

  /** Three files, again and again the same ones. */
  edit(): void {
    for (let i = 0; i < 3; i += 1) {
      const index = ((this.count * 3 + i) % EDITED) * 997
      this.#repository.write(largeFile(index), largeText(index, { 7: `// by turn ${this.count}` }))
    }
  }

  async after(): Promise<void> {
    const turn = {
      turnId: `turn-${this.count}`,
      workFolder: this.#repository.root,
      lastSeq: 1,
      isLate: false,
    }
    const problem = await this.#changes.end({ ...this.#place, ...turn })
    if (problem !== undefined) throw new Error(problem)
  }
}

interface Timed {
  ms: number
  cpuMs: number
}

async function timed(work: () => Promise<unknown>): Promise<Timed> {
  const [start, cpu] = [performance.now(), cpuMs()]
  await work()
  return { ms: performance.now() - start, cpuMs: cpuMs() - cpu }
}

/** The CPU time is counted in steps of 10 ms, so that only its mean says something. */
function typical(times: readonly Timed[], by: By): number {
  const values = times.map(time => time[by])
  return by === 'ms' ? median(values) : values.reduce((sum, value) => sum + value, 0) / values.length
}

const TICK_MS = 10

/** Of this process and of all that it started and that ended; on a busy machine it says more than the clock. */
function cpuMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  // utime, stime, cutime, cstime
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0)
}
