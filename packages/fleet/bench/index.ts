// `pnpm bench [group …]`: load, calls, takeover; all of them by default.
import { type BenchRow, reportBench } from '../../core/bench/report.ts'
import { callRows } from './calls.ts'
import { loadRows } from './load.ts'
import { takeoverRows } from './takeover.ts'

const GROUPS: Readonly<Record<string, () => Promise<BenchRow[]>>> = {
  load: loadRows,
  calls: callRows,
  takeover: takeoverRows,
}

const wanted = process.argv.slice(2)
const rows: BenchRow[] = []
for (const [name, measure] of Object.entries(GROUPS))
  if (wanted.length === 0 || wanted.includes(name)) rows.push(...(await measure()))
reportBench('@chirality/fleet', rows)
