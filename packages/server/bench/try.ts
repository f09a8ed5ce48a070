import { endToEndRows } from './end-to-end/rows.ts'

for (const r of await endToEndRows())
  console.log(r.pass ? 'ok  ' : 'FAIL', r.name, r.ratio.toFixed(2), r.bar, r.detail)
