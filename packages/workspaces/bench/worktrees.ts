import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { cloneLargeRepository, LARGE } from '@chirality/fixtures'
import { type BenchRow, benchRow } from '../../core/bench/report.ts'
import { Worktrees } from '../src/index.ts'
import { type Timed, timed } from './measures.ts'

const ROUNDS = 3
const ORDERS = [
  ['git', 'first', 'second'],
  ['first', 'second', 'git'],
  ['first', 'git', 'second'],
] as const

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
      const add = async () => repository.run('worktree', 'add', '-q', '-b', `plain-${round}`, places.plain)
      // In turn: who comes first has a file system that is still busy with what the round before removed.
      for (const name of ORDERS[round % ORDERS.length] ?? [])
        taken[name].push(name === 'git' ? await timed(add) : await make())
      for (const place of Object.values(places)) rmSync(place, { recursive: true })
      repository.run('worktree', 'prune')
    }
    // Not the median: what a file system does now and then takes several times as long as git.
    const best = (name: keyof typeof taken, of: 'ms' | 'cpuMs') =>
      Math.min(...taken[name].map(time => time[of]))
    const row = (name: string, [one, other]: [keyof typeof taken, keyof typeof taken], bar: number) => {
      const ratio = (of: 'ms' | 'cpuMs') => best(one, of) / best(other, of)
      const seconds = (which: keyof typeof taken) => `${(best(which, 'ms') / 1000).toFixed(2)} s`
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
