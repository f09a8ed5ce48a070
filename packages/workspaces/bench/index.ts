// `pnpm bench [group …]`: back, blame, worktrees; all of them by default.
import { type BenchRow, reportBench } from '../../core/bench/report.ts'
import { backRows } from './back.ts'
import { blameRows } from './blame.ts'
import { worktreeRows } from './worktrees.ts'

const GROUPS: Readonly<Record<string, () => Promise<BenchRow[]>>> = {
  back: backRows,
  blame: blameRows,
  worktrees: worktreeRows,
}

const wanted = process.argv.slice(2)
const rows: BenchRow[] = []
for (const [name, measure] of Object.entries(GROUPS))
  if (wanted.length === 0 || wanted.includes(name)) rows.push(...(await measure()))
reportBench('@chirality/workspaces', rows)
