import type { FileDiff } from './file-diff.ts'

export interface DiffRow {
  /** `@` stands for lines that are left out. */
  mark: ' ' | '+' | '-' | '@'
  oldLine: number | null
  newLine: number | null
  text: string
  /** Of a line that was changed and not written anew: from where to where it differs from what it was. */
  changed?: readonly [from: number, to: number]
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
  markWords(rows)
  cache.set(diff, rows)
  return rows
}

/** A longer run of lines is read as a whole; nobody compares its words. */
const MAX_COMPARED = 60
/** How much of two lines has to be the same for one to be the other, changed. */
const MIN_ALIKE = 0.4

/** Lines that went are laid beside the lines that came for them, in their order, each with the one that is most like it. */
function markWords(rows: DiffRow[]): void {
  for (let start = 0; start < rows.length; start++) {
    if (rows[start]?.mark !== '-') continue
    const middle = endOf(rows, start, '-')
    const end = endOf(rows, middle, '+')
    if (end > middle && end - start <= MAX_COMPARED) pair(rows, { start, middle, end })
    start = end - 1
  }
}

function endOf(rows: readonly DiffRow[], from: number, mark: DiffRow['mark']): number {
  let end = from
  while (rows[end]?.mark === mark) end += 1
  return end
}

function pair(rows: DiffRow[], { start, middle, end }: { start: number; middle: number; end: number }): void {
  let next = middle
  for (let old = start; old < middle; old++) {
    const gone = rows[old]
    if (!gone) continue
    let best: { at: number; alike: number } | undefined
    for (let at = next; at < end; at++) {
      const alike = likeness(gone.text, rows[at]?.text ?? '')
      if (alike >= MIN_ALIKE && alike > (best?.alike ?? 0)) best = { at, alike }
    }
    const came = best && rows[best.at]
    if (!best || !came) continue
    const { before, after } = common(gone.text, came.text)
    gone.changed = [before, gone.text.length - after]
    came.changed = [before, came.text.length - after]
    next = best.at + 1
  }
}

/** From 0 to 1: the part of the longer line that both begin and end with, without blanks at the sides. */
function likeness(a: string, b: string): number {
  const [left, right] = [a.trim(), b.trim()]
  const longer = Math.max(left.length, right.length)
  if (longer === 0 || left === right) return 0
  const { before, after } = common(left, right)
  return (before + after) / longer
}

/** How many characters two lines begin and end with alike, cut where words are. */
function common(a: string, b: string): { before: number; after: number } {
  const shorter = Math.min(a.length, b.length)
  let before = 0
  while (before < shorter && a[before] === b[before]) before += 1
  let after = 0
  while (after < shorter - before && a[a.length - 1 - after] === b[b.length - 1 - after]) after += 1
  while (before > 0 && isInWord(a, before) && isInWord(b, before)) before -= 1
  while (after > 0 && isInWord(a, a.length - after) && isInWord(b, b.length - after)) after -= 1
  return { before, after }
}

function isInWord(text: string, at: number): boolean {
  return WORD.test(text[at - 1] ?? '') && WORD.test(text[at] ?? '')
}

const WORD = /[\p{L}\p{N}_$]/u
