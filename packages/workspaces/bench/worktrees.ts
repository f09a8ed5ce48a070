import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { cloneLargeRepository, LARGE } from '@chirality/fixtures'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { Worktrees } from '../src/index.ts'
import { median, type Timed, timed } from './measures.ts'

const ROUNDS = 3

/** What a new session waits for when it gets a worktree of a large repository, beside git alone. */
export async function worktreeRows(): Promise<BenchRow[]> {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-bench-')))
  try {
    const repository = cloneLargeRepository(path.join(folder, 'shop'))
    const taken: Record<'git' | 'first' | 'second', Timed<unknown>[]> = { git: [], first: [], second: [] }
    for (let round = 0; round < ROUNDS; round += 1) {
      const places = { ours: path.join(folder, `ours-${round}`), plain: path.join(folder, `plain-${round}`) }
      const worktrees = new Worktrees(places.ours)
      const make = () => timed(() => worktrees.make({ projectRoot: repository.root, title: `Work ${round}` }))
      const ours = async () => {
        taken.first.push(await make())
        taken.second.push(await make())
      }
      const add = async () => repository.run('worktree', 'add', '-q', '-b', `plain-${round}`, places.plain)
      // In turn: who comes first has a disk that is still busy with what the round before removed.
      if (round % 2 === 1) await ours()
      taken.git.push(await timed(add))
      if (round % 2 === 0) await ours()
      for (const place of Object.values(places)) rmSync(place, { recursive: true })
      repository.run('worktree', 'prune')
    }
    const typical = (name: keyof typeof taken, of: 'ms' | 'cpuMs') =>
      median(taken[name].map(time => time[of]))
    const row = (name: string, [one, other]: [keyof typeof taken, keyof typeof taken], bar: number) => {
      const ratio = (of: 'ms' | 'cpuMs') => typical(one, of) / typical(other, of)
      const seconds = (which: keyof typeof taken) => `${(typical(which, 'ms') / 1000).toFixed(2)} s`
      const detail = `${LARGE.files} files: ${seconds(one)} against ${seconds(other)}; CPU ${ratio('cpuMs').toFixed(2)}`
      return benchRow({ name, ratio: ratio('ms'), bar, better: 'lower', detail })
    }
    return [
      row('worktree ready, of git worktree add', ['first', 'git'], 1.3),
      row('second worktree of the same base, of the first', ['second', 'first'], 1.1),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
