import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { cloneLargeRepository, LARGE, largeFile, largeText, type Repository } from '@chirality/fixtures'
import type { SessionStatus, StartingTurn } from '@chirality/sessions'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { TurnChanges } from '../src/changes/turn-changes.ts'
import { median } from './statistics.ts'

const ROUNDS = 7
const TURNS = 500
/** Files that the agent works on. */
const EDITED = 20

/**
 * What a turn in a large repository waits for: the files are recorded before the agent is asked, and again when the turn is
 * over. Beside `git status` in the same state.
 */
export async function snapshotRows(): Promise<BenchRow[]> {
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
      for (let round = 0; round < ROUNDS; round += 1) {
        times.before.push(await timed(() => turns.before()))
        turns.edit()
        times.after.push(await timed(() => turns.after()))
        times.status.push(await timed(status))
      }
      return times
    }
    const early = await rounds()
    while (turns.count < TURNS) {
      await turns.before()
      turns.edit()
      await turns.after()
    }
    const late = await rounds()
    const of = (which: keyof Rounds, times: Rounds, by: 'ms' | 'cpuMs' = 'ms') => typical(times[which], by)
    const row = (name: string, ratio: (by: 'ms' | 'cpuMs') => number, bar: number, detail: string) =>
      benchRow({
        ...{ name, ratio: ratio('ms'), bar, better: 'lower' },
        detail: `${detail}; CPU ${ratio('cpuMs').toFixed(2)}`,
      })
    const ms = (value: number) => `${value.toFixed(0)} ms`
    const both = (times: Rounds, by: 'ms' | 'cpuMs' = 'ms') =>
      of('before', times, by) + of('after', times, by)
    return [
      row(
        'snapshot around a turn, the mean of both, of git status',
        by => both(early, by) / 2 / of('status', early, by),
        1.5,
        `${LARGE.files} files: ${ms(of('before', early))} and ${ms(of('after', early))} against ${ms(of('status', early))}`,
      ),
      row(
        'first snapshot of a work tree, of git status',
        by => first[by] / of('status', early, by),
        4,
        `once for each commit that is checked out: ${ms(first.ms)}`,
      ),
      row(
        `both snapshots after ${TURNS} turns, of the first ones`,
        by => both(late, by) / both(early, by),
        1.2,
        `${ms(both(late))} against ${ms(both(early))}`,
      ),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

type Rounds = Record<'before' | 'after' | 'status', Timed[]>

/** Turns of one session, as the server hears of them from its host. */
class RecordedTurns {
  count = 0
  readonly #repository: Repository
  readonly #changes = new TurnChanges()
  readonly #place: { sessionId: string; projectRoot: string }
  #tell: (status: SessionStatus) => void = () => {}
  #begin: (turn: StartingTurn) => Promise<string | undefined> = async () => undefined

  constructor(repository: Repository) {
    this.#repository = repository
    this.#place = { sessionId: 'b3f7a1c2-0000-4000-8000-000000000001', projectRoot: repository.root }
    this.#changes.watch({
      onStatus: listener => {
        this.#tell = listener
        return () => {}
      },
      beforeTurns: prepare => {
        this.#begin = prepare
        return () => {}
      },
    })
  }

  async before(): Promise<void> {
    this.count += 1
    const turn = { turnId: `turn-${this.count}`, workFolder: this.#repository.root }
    const problem = await this.#begin({ ...this.#place, ...turn, signal: new AbortController().signal })
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
    this.#tell({ ...this.#place, turnId: null, phase: 'idle', lastSeq: 1 } as unknown as SessionStatus)
    // Waits for what is being recorded; the host goes on to be heard.
    await this.#changes.close()
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

function typical(times: readonly Timed[], by: 'ms' | 'cpuMs'): number {
  return median(times.map(time => time[by]))
}

const TICK_MS = 10

/** Of this process and of all that it started and that ended; on a busy machine it says more than the clock. */
function cpuMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  // utime, stime, cutime, cstime
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * TICK_MS, 0)
}
