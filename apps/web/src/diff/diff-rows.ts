import type { DiffHunk, FileDiff } from './file-diff.ts'

export interface DiffRow {
  /** `@` stands for lines that are left out. */
  mark: ' ' | '+' | '-' | '@'
  oldLine: number | null
  newLine: number | null
  text: string
  /** Changed part of a line that was edited and not rewritten. */
  changed?: readonly [from: number, to: number]
  /** It is the last of its file and has no newline, or had none. */
  unended?: boolean
}

const cache = new WeakMap<FileDiff, readonly DiffRow[]>()
const hunkCache = new WeakMap<DiffHunk, readonly DiffRow[]>()

/** A diff line by line, with the number of each. */
export function diffRows(diff: FileDiff): readonly DiffRow[] {
  const known = cache.get(diff)
  if (known) return known
  const gap: DiffRow = { mark: '@', oldLine: null, newLine: null, text: '' }
  const rows = diff.hunks.flatMap((hunk, index) => (index > 0 ? [gap, ...hunkRows(hunk)] : hunkRows(hunk)))
  cache.set(diff, rows)
  return rows
}

/** The lines of one hunk; the same objects each time. */
export function hunkRows(hunk: DiffHunk): readonly DiffRow[] {
  const known = hunkCache.get(hunk)
  if (known) return known
  let { oldStart: oldLine, newStart: newLine } = hunk
  const rows = hunk.lines.map((line, at): DiffRow => {
    const mark = line[0] === '+' || line[0] === '-' ? line[0] : ' '
    const row: DiffRow = {
      mark,
      oldLine: mark === '+' ? null : oldLine,
      newLine: mark === '-' ? null : newLine,
      text: line.slice(1),
    }
    if (hunk.unended?.includes(at)) row.unended = true
    if (mark !== '+') oldLine += 1
    if (mark !== '-') newLine += 1
    return row
  })
  markWords(rows)
  hunkCache.set(hunk, rows)
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

/** A line that was and the one that stands in its place; null where there is none. */
export interface SplitRow {
  left: DiffRow | null
  right: DiffRow | null
}

/** Lines that went beside lines that came for them, in their order. */
export function splitRows(rows: readonly DiffRow[]): SplitRow[] {
  const split: SplitRow[] = []
  for (let at = 0; at < rows.length; ) {
    const row = rows[at] as DiffRow
    if (row.mark === ' ' || row.mark === '@') {
      split.push({ left: row, right: row })
      at += 1
      continue
    }
    const middle = endOf(rows, at, '-')
    const end = endOf(rows, middle, '+')
    for (let i = 0; i < Math.max(middle - at, end - middle); i++) {
      const [left, right] = [
        at + i < middle ? rows[at + i] : null,
        middle + i < end ? rows[middle + i] : null,
      ]
      split.push({ left: left ?? null, right: right ?? null })
    }
    at = end
  }
  return split
}

/** The rows without changes of white space alone: such a line is shown as it is now, as one that did not change. */
export function withoutBlankChanges(rows: readonly DiffRow[]): readonly DiffRow[] {
  const shown: DiffRow[] = []
  for (let at = 0; at < rows.length; ) {
    const middle = endOf(rows, at, '-')
    const end = endOf(rows, middle, '+')
    if (middle === at || end === middle) {
      shown.push(...rows.slice(at, Math.max(end, at + 1)))
      at = Math.max(end, at + 1)
      continue
    }
    const [gone, came] = [rows.slice(at, middle), rows.slice(middle, end)]
    // Lines are held against each other from both ends of the run.
    let before = 0
    while (before < Math.min(gone.length, came.length) && isSameText(gone[before], came[before])) before += 1
    let after = 0
    while (
      after < Math.min(gone.length, came.length) - before &&
      isSameText(gone.at(-1 - after), came.at(-1 - after))
    )
      after += 1
    const asOne = (old: DiffRow, now: DiffRow): DiffRow => ({ ...now, mark: ' ', oldLine: old.oldLine })
    const joined = came.map((now, i) => {
      const old = i < before ? gone[i] : gone[i - came.length + gone.length]
      return i < before || i >= came.length - after ? asOne(old as DiffRow, now) : now
    })
    shown.push(
      ...joined.slice(0, before),
      ...gone.slice(before, gone.length - after),
      ...joined.slice(before),
    )
    at = end
  }
  return shown
}

function isSameText(a: DiffRow | undefined, b: DiffRow | undefined): boolean {
  return a?.text.replace(/\s+/g, '') === b?.text.replace(/\s+/g, '')
}
