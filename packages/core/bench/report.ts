import { writeFileSync } from 'node:fs'

/** One promise and what was measured. `ratio` compares two things measured in the same run. */
export interface BenchRow {
  name: string
  ratio: number
  bar: number
  better: 'higher' | 'lower'
  pass: boolean
  detail: string
}

export function benchRow(row: Omit<BenchRow, 'pass'>): BenchRow {
  const pass = row.better === 'higher' ? row.ratio >= row.bar : row.ratio <= row.bar
  return { ...row, pass }
}

/** Writes `.bench-results.json` in the package folder, prints the table, and fails the process if a bar fails. */
export function reportBench(packageName: string, rows: BenchRow[]): void {
  writeFileSync('.bench-results.json', `${JSON.stringify({ package: packageName, rows }, null, 2)}\n`)
  console.log(formatTable(rows.map(cells)))
  if (rows.some(row => !row.pass)) process.exitCode = 1
}

function cells(row: BenchRow): string[] {
  const bar = `${row.better === 'higher' ? '≥' : '≤'} ${row.bar.toFixed(2)}`
  return [row.pass ? 'ok' : 'FAIL', row.name, row.ratio.toFixed(2), bar, row.detail]
}

function formatTable(table: string[][]): string {
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map(line => line[column]?.length ?? 0)),
  )
  return table
    .map(line =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
