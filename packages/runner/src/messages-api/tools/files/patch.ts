/** One changed stretch of a file, with the lines around it, as `diff -u` numbers them. */
export interface Hunk {
  oldStart: number
  oldLines: number
  newStart: number
  newLines: number
  /** Each begins with a space, a minus or a plus. */
  lines: string[]
}

/** What changed between two texts, as one hunk from the first line that differs to the last. None when nothing did. */
export function structuredPatch(before: string, after: string): Hunk[] {
  if (before === after) return []
  const old = linesOf(before)
  const now = linesOf(after)
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1
  let tail = 0
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1
  const start = Math.max(0, head - CONTEXT_LINES)
  const around = Math.min(tail, CONTEXT_LINES)
  const removed = old.slice(head, old.length - tail)
  const added = now.slice(head, now.length - tail)
  const lines = [
    ...old.slice(start, head).map(line => ` ${line}`),
    ...cut(removed).map(line => `-${line}`),
    ...cut(added).map(line => `+${line}`),
    ...old.slice(old.length - tail, old.length - tail + around).map(line => ` ${line}`),
  ]
  const context = head - start + around
  return [
    {
      oldStart: old.length === 0 ? 0 : start + 1,
      oldLines: context + removed.length,
      newStart: now.length === 0 ? 0 : start + 1,
      newLines: context + added.length,
      lines,
    },
  ]
}

const CONTEXT_LINES = 3
/** A patch is for people; the file itself is there for the rest. */
const MAX_PATCH_LINES = 2000

function linesOf(text: string): string[] {
  if (text === '') return []
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines
}

function cut(lines: string[]): string[] {
  if (lines.length <= MAX_PATCH_LINES) return lines
  return [...lines.slice(0, MAX_PATCH_LINES), `[${lines.length - MAX_PATCH_LINES} more lines]`]
}
