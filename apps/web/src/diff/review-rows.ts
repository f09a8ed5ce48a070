import { type DiffRow, hunkRows, type SplitRow, splitRows, withoutBlankChanges } from './diff-rows.ts'
import type { DiffHunk, FileDiff } from './file-diff.ts'

/** One thing under another, as a file is reviewed. */
export type ReviewRow =
  | { kind: 'hunk'; index: number; hidden: number; isBlank: boolean }
  | { kind: 'line'; row: DiffRow }
  | { kind: 'split'; row: SplitRow }
  /** Lines after the last hunk that can be shown. */
  | { kind: 'tail'; hidden: number | null }

export interface ReviewLook {
  split: boolean
  /** Changes of white space alone are not shown as changes. */
  ignoresBlanks: boolean
}

/** The file as it became, where more of it is wanted than the diff has. */
export interface Around {
  lines: readonly string[]
  /** How many lines are wanted before each hunk, and after the last. */
  wanted: ReadonlyMap<number, number>
}

/** All rows of a file. */
export function reviewRows(diff: FileDiff, look: ReviewLook, around: Around | null): ReviewRow[] {
  const rows: ReviewRow[] = []
  const add = (lines: readonly DiffRow[]) => {
    if (look.split) for (const row of splitRows(lines)) rows.push({ kind: 'split', row })
    else for (const row of lines) rows.push({ kind: 'line', row })
  }
  let before = 1
  for (const [index, hunk] of diff.hunks.entries()) {
    const gap = Math.max(0, hunk.newStart - before)
    const shown = around ? Math.min(gap, around.wanted.get(index) ?? 0) : 0
    const lines = look.ignoresBlanks ? withoutBlankChanges(hunkRows(hunk)) : hunkRows(hunk)
    const isBlank = look.ignoresBlanks && lines.every(({ mark }) => mark === ' ')
    rows.push({ kind: 'hunk', index, hidden: diff.unplaced ? 0 : gap - shown, isBlank })
    add(contextRows(around, hunk.newStart - shown, hunk.newStart, hunk.oldStart - hunk.newStart))
    if (!isBlank) add(lines)
    before = endOfHunk(hunk)
  }
  const last = diff.hunks.at(-1)
  if (last === undefined || diff.kind !== 'update' || diff.unplaced) return rows
  const total = around ? around.lines.length : null
  const shown = around ? (around.wanted.get(diff.hunks.length) ?? 0) : 0
  const end = total === null ? before : Math.min(total + 1, before + shown)
  const shift = last.oldStart + countOf(last, '+') - before
  add(contextRows(around, before, end, shift))
  const hidden = total === null ? null : total + 1 - end
  if (hidden !== 0) rows.push({ kind: 'tail', hidden })
  return rows
}

function contextRows(around: Around | null, from: number, to: number, shift: number): DiffRow[] {
  if (!around) return []
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => ({
    mark: ' ',
    oldLine: from + i + shift,
    newLine: from + i,
    text: around.lines[from + i - 1] ?? '',
  }))
}

/** The line of the new file after the hunk. */
function endOfHunk(hunk: DiffHunk): number {
  return hunk.newStart + countOf(hunk, '-')
}

/** Its lines on the side that lines with the other mark are not on. */
function countOf({ lines }: DiffHunk, otherMark: '+' | '-'): number {
  return lines.filter(line => !line.startsWith(otherMark)).length
}

/** The lines of a text, without an empty one after its last end of line. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}
