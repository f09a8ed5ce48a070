import { launchBrowser } from '../../../.scripts/browser.ts'
import { reportBench } from '../../../packages/core/bench/report.ts'
import { initialScript, loadRows } from './rows/load.ts'
import { loadedRows } from './rows/loaded.ts'
import { openRows } from './rows/open.ts'
import { partRows } from './rows/parts.ts'
import { streamRows } from './rows/stream.ts'

const browser = await launchBrowser()
try {
  reportBench('@chirality/web', [
    initialScript(),
    ...(await loadRows(browser)),
    ...(await partRows(browser)),
    ...(await openRows(browser)),
    ...(await streamRows(browser)),
    ...(await loadedRows(browser)),
  ])
} finally {
  await browser.close()
}
