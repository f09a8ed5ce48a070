// `pnpm bench [group …]`: load, parts, open, stream, loaded, diff; all of them by default.
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../../../.scripts/browser.ts'
import { type BenchRow, reportBench } from '../../../packages/core/bench/report.ts'
import { diffRows } from './rows/diff.ts'
import { initialScript, loadRows } from './rows/load.ts'
import { loadedRows } from './rows/loaded.ts'
import { openRows } from './rows/open.ts'
import { partRows } from './rows/parts.ts'
import { streamRows } from './rows/stream.ts'

const GROUPS: Readonly<Record<string, (browser: Browser) => Promise<BenchRow[]>>> = {
  load: async browser => [initialScript(), ...(await loadRows(browser))],
  parts: partRows,
  open: openRows,
  stream: streamRows,
  loaded: loadedRows,
  diff: diffRows,
}

const wanted = process.argv.slice(2)
const browser = await launchBrowser()
try {
  const rows: BenchRow[] = []
  for (const [name, measure] of Object.entries(GROUPS))
    if (wanted.length === 0 || wanted.includes(name)) rows.push(...(await measure(browser)))
  reportBench('@chirality/web', rows)
} finally {
  await browser.close()
}
