import { parsePatch, structuredPatch } from 'diff'

export interface FileDiff {
  readonly path: string
  readonly kind: 'add' | 'update' | 'delete'
  readonly hunks: readonly DiffHunk[]
  readonly added: number
  readonly removed: number
  /** Where in the file it is, is not known: its lines have no numbers. */
  readonly unplaced?: boolean
}

export interface DiffHunk {
  readonly oldStart: number
  readonly newStart: number
  /** Each begins with a blank, `+` or `-`. */
  readonly lines: readonly string[]
  /** Which of them end the file without a newline, counted from 0. */
  readonly unended?: readonly number[]
}

export function fileDiff(path: string, kind: FileDiff['kind'], hunks: readonly DiffHunk[]): FileDiff {
  const count = (mark: string) =>
    hunks.reduce((sum, { lines }) => sum + lines.filter(line => line.startsWith(mark)).length, 0)
  return { path, kind, hunks, added: count('+'), removed: count('-') }
}

/** A unified diff of any number of files, as `git diff` prints it. What cannot be parsed is no diff. */
export function parseUnifiedDiff(text: string): FileDiff[] {
  try {
    return parsePatch(text).flatMap(file => {
      const oldName = stripPrefix(file.oldFileName)
      const newName = stripPrefix(file.newFileName)
      const path = newName ?? oldName
      if (path === undefined) return []
      const kind = oldName === undefined ? 'add' : newName === undefined ? 'delete' : 'update'
      return [fileDiff(path, kind, file.hunks.map(withEnds))]
    })
  } catch {
    return []
  }
}

/** The difference of two texts; line numbers count from the beginning of the texts. */
export function diffTexts(path: string, before: string, after: string): FileDiff {
  const patch = structuredPatch(path, path, before, after, '', '', { context: 3, timeout: DIFF_TIMEOUT_MS })
  const kind = before === '' ? 'add' : after === '' ? 'delete' : 'update'
  return fileDiff(path, kind, patch ? patch.hunks.map(toHunk) : [allOf(before, '-'), allOf(after, '+')])
}

/** A whole file, every line new or every line gone. */
export function wholeFile(path: string, kind: 'add' | 'delete', text: string): FileDiff {
  return fileDiff(path, kind, text === '' ? [] : [allOf(text, kind === 'add' ? '+' : '-')])
}

/** Two long texts with nothing in common take minutes to compare; then one is shown after the other. */
const DIFF_TIMEOUT_MS = 200

function allOf(text: string, mark: '+' | '-'): DiffHunk {
  const lines = text.replace(/\n$/, '').split('\n')
  return { oldStart: 1, newStart: 1, lines: lines.map(line => mark + line) }
}

function toHunk({ oldStart, newStart, lines }: DiffHunk): DiffHunk {
  return { oldStart, newStart, lines: lines.filter(line => !line.startsWith('\\')) }
}

/** Adds ends of files to hunks of whole files only: pieces that a tool names may end anywhere. */
function withEnds(hunk: DiffHunk): DiffHunk {
  const isNote = (line: string) => line.startsWith('\\')
  const unended = hunk.lines.flatMap((line, at) =>
    isNote(line) ? [at - 1 - hunk.lines.slice(0, at).filter(isNote).length] : [],
  )
  return { ...toHunk(hunk), ...(unended.length > 0 ? { unended } : {}) }
}

function stripPrefix(name: string | undefined): string | undefined {
  if (name === undefined || name === '/dev/null') return undefined
  return name.replace(/^[ab]\//, '')
}
