// `npm run bench`: every package's benchmarks, one at a time, then all promises in one table and one JSON file.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { root, say, setup, turbo } from './setup.mjs'

const RESULTS = '.bench-results.json'

await setup()
const folders = benchedFolders()
// Removes earlier results: one must not stand in for a benchmark that crashes in this run.
for (const folder of folders) rmSync(path.join(folder, RESULTS), { force: true })
await turbo(['bench', '--concurrency=1', '--continue'])

const missing = folders.filter(folder => !existsSync(path.join(folder, RESULTS)))
const reports = folders
  .filter(folder => !missing.includes(folder))
  .map(folder => JSON.parse(readFileSync(path.join(folder, RESULTS), 'utf8')))
const rows = reports.flatMap(report => report.rows.map(row => ({ package: report.package, ...row })))
writeFileSync(path.join(root, RESULTS), `${JSON.stringify({ rows }, null, 2)}\n`)
console.log(`\n${table(rows)}\n`)
for (const folder of missing) say(`${path.relative(root, folder)} has benchmarks but left no results`)
const failed = rows.filter(row => !row.pass).length
console.log(`${rows.length - failed} of ${rows.length} bars hold`)
process.exitCode = failed > 0 || missing.length > 0 || rows.length === 0 ? 1 : 0

function benchedFolders() {
  const parents = ['packages', 'apps'].map(name => path.join(root, name)).filter(existsSync)
  const folders = parents.flatMap(parent => readdirSync(parent).map(name => path.join(parent, name)))
  return [...folders, path.join(root, 'fixtures')].filter(folder => {
    const manifest = path.join(folder, 'package.json')
    return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).scripts?.bench !== undefined
  })
}

function table(rows) {
  const head = ['', 'package', 'promise', 'ratio', 'bar', 'detail']
  const lines = [head, ...rows.map(cells)]
  const widths = head.map((_, column) => Math.max(...lines.map(line => line[column].length)))
  return lines
    .map(line =>
      line
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function cells(row) {
  const bar = `${row.better === 'higher' ? '≥' : '≤'} ${row.bar.toFixed(2)}`
  return [row.pass ? 'ok' : 'FAIL', row.package, row.name, row.ratio.toFixed(2), bar, row.detail]
}
