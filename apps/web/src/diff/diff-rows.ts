import type { FileDiff } from './file-diff.ts'

export interface DiffRow {
  /** `@` stands for lines that are left out. */
  mark: ' ' | '+' | '-' | '@'
  oldLine: number | null
  newLine: number | null
  text: string
}

const cache = new WeakMap<FileDiff, readonly DiffRow[]>()

/** A diff line by line, with the number of each. */
export function diffRows(diff: FileDiff): readonly DiffRow[] {
  const known = cache.get(diff)
  if (known) return known
  const rows: DiffRow[] = []
  for (const hunk of diff.hunks) {
    if (rows.length > 0) rows.push({ mark: '@', oldLine: null, newLine: null, text: '' })
    let { oldStart: oldLine, newStart: newLine } = hunk
    for (const line of hunk.lines) {
      const mark = line[0] === '+' || line[0] === '-' ? line[0] : ' '
      rows.push({
        mark,
        oldLine: mark === '+' ? null : oldLine,
        newLine: mark === '-' ? null : newLine,
        text: line.slice(1),
      })
      if (mark !== '+') oldLine += 1
      if (mark !== '-') newLine += 1
    }
  }
  cache.set(diff, rows)
  return rows
}
