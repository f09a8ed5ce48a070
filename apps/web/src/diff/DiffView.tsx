import { memo, type ReactNode, useEffect, useState } from 'react'
import { highlight, languageOf, linesOfRuns } from '../markdown/highlight.ts'
import type { Run } from '../markdown/highlight-runs.ts'
import { Button } from '../ui/controls/Button.tsx'
import { ScrollRegion } from '../ui/virtual/ScrollRegion.tsx'
import { type DiffRow, diffRows } from './diff-rows.ts'
import type { FileDiff } from './file-diff.ts'
import '../markdown/code-block.css'
import './diff.css'

/** A diff of four thousand lines is there at once, but not painted at once. */
const FIRST_ROWS = 300
const MORE_ROWS = 1500

export interface DiffViewProps {
  diff: FileDiff
  /** Called with the row that was clicked; makes line numbers buttons. */
  onLine?: (row: DiffRow) => void
  /** Content under a row, as a comment. */
  below?: (row: DiffRow) => ReactNode
  /** Every line at once, as for who looks for a word in it. */
  whole?: boolean
}

export const DiffView = memo(function DiffView({ diff, onLine, below, whole = false }: DiffViewProps) {
  const [limit, setLimit] = useState(FIRST_ROWS)
  const rows = diffRows(diff)
  const shown = whole ? rows : rows.slice(0, limit)
  const colours = useColours(diff.path, rows, shown.length)
  return (
    <div className="diff">
      <ScrollRegion role="group" className="diff__scroll" label={`Changes in ${diff.path}`}>
        <div className="diff__lines">
          {shown.map((row, index) => (
            <DiffLine
              key={index}
              row={diff.unplaced ? unplaced(row) : row}
              runs={colours?.get(row)}
              onLine={onLine}
              below={below?.(row)}
            />
          ))}
        </div>
      </ScrollRegion>
      {rows.length > shown.length ? (
        <Button className="diff__more" look="quiet" size="small" onClick={() => setLimit(limit + MORE_ROWS)}>
          {`Show ${Math.min(MORE_ROWS, rows.length - limit)} more of ${rows.length} lines`}
        </Button>
      ) : null}
    </div>
  )
})

/** `+3 −1`, always in the same order; a side without lines is left out. */
export function DiffCount({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="number diff-count">
      {added > 0 ? <span className="diff-count__add">{`+${added}`}</span> : null}
      {removed > 0 ? <span className="diff-count__del">{`−${removed}`}</span> : null}
    </span>
  )
}

/** A path with its folders back and its name in front. */
export function FilePath({ path }: { path: string }) {
  const cut = path.lastIndexOf('/') + 1
  return (
    <span className="file-path" title={path}>
      <span className="file-path__folder">{path.slice(0, cut)}</span>
      <span className="file-path__name">{path.slice(cut)}</span>
    </span>
  )
}

function unplaced(row: DiffRow): DiffRow {
  return { ...row, oldLine: null, newLine: null }
}

export type Colours = ReadonlyMap<DiffRow, readonly Run[]>

/** The rows in the colours of their language. They come later, from a worker, and move nothing. */
export function useColours(path: string, rows: readonly DiffRow[], count = rows.length): Colours | null {
  const [result, setResult] = useState<{ rows: readonly DiffRow[]; colours: Colours } | null>(null)
  const language = languageOf(path)
  useEffect(() => {
    let wanted = true
    void coloursOf(rows.slice(0, count), language).then(colours => {
      if (wanted && colours.size > 0) setResult({ rows, colours })
    })
    return () => {
      wanted = false
    }
  }, [rows, count, language])
  return result?.rows === rows ? result.colours : null
}

/** Old and new lines are highlighted as two texts, hunk by hunk: a string left open in one does not reach the next. */
async function coloursOf(rows: readonly DiffRow[], language: string): Promise<Colours> {
  const colours = new Map<DiffRow, readonly Run[]>()
  const texts = hunksOf(rows).flatMap(hunk => {
    const gone = hunk.some(({ mark }) => mark === '-') ? hunk.filter(({ mark }) => mark !== '+') : []
    return [gone, hunk.filter(({ mark }) => mark !== '-')]
  })
  const each = texts.map(async lines => {
    if (lines.length === 0) return
    const runs = await highlight(lines.map(({ text }) => text).join('\n'), language)
    const coloured = runs ? linesOfRuns(runs) : []
    for (const [index, row] of lines.entries()) {
      const line = coloured[index]
      if (line) colours.set(row, line)
    }
  })
  await Promise.all(each)
  return colours
}

function hunksOf(rows: readonly DiffRow[]): DiffRow[][] {
  const hunks: DiffRow[][] = [[]]
  for (const row of rows) {
    if (row.mark === '@') hunks.push([])
    else hunks.at(-1)?.push(row)
  }
  return hunks
}

interface DiffLineProps {
  row: DiffRow
  runs: readonly Run[] | undefined
  onLine: DiffViewProps['onLine']
  below: ReactNode
}

export function DiffLine({ row, runs, onLine, below }: DiffLineProps) {
  if (row.mark === '@') return <div className="diff__gap">⋯</div>
  return (
    <>
      <div
        className={`diff__line${row.mark === '+' ? ' diff__line--add' : row.mark === '-' ? ' diff__line--del' : ''}`}
      >
        <LineNumber row={row} number={row.newLine ?? row.oldLine} onLine={onLine} />
        <span className="diff__mark">{row.mark}</span>
        <LineText row={row} runs={runs} />
      </div>
      {below}
    </>
  )
}

interface LineNumberProps {
  row: DiffRow
  number: number | null
  onLine: DiffViewProps['onLine']
}

/** Where a line is, and the place for what is to be said of it. */
export function LineNumber({ row, number, onLine }: LineNumberProps) {
  // Read by who wants to know who wrote the line.
  const place = { 'data-line': number ?? undefined, 'data-side': number === row.newLine ? 'new' : 'old' }
  if (!onLine)
    return (
      <span className="diff__number" {...place}>
        {number}
      </span>
    )
  return (
    <button
      type="button"
      className="diff__number"
      {...place}
      aria-label={`Comment on line ${number}`}
      onClick={() => onLine(row)}
    >
      {number}
    </button>
  )
}

/** A line in the colours of its language, with the words that changed marked. */
export function LineText({ row, runs }: Pick<DiffLineProps, 'row' | 'runs'>) {
  return (
    <span className="diff__text">
      {pieces(row, runs ?? [[row.text, null]]).map(({ text, tone, isChanged }, index) => {
        const classes = [tone && `hl-${tone}`, isChanged && 'diff__word'].filter(Boolean).join(' ')
        return classes === '' ? (
          text
        ) : (
          <span key={index} className={classes}>
            {text}
          </span>
        )
      })}
      {row.unended && row.mark !== ' ' ? <span className="diff__unended">no newline at the end</span> : null}
    </span>
  )
}

interface Piece {
  text: string
  tone: string | null
  isChanged: boolean
}

/** The runs of a line, cut where the changed words begin and end. */
function pieces({ changed }: DiffRow, runs: readonly Run[]): Piece[] {
  if (!changed) return runs.map(([text, tone]) => ({ text, tone, isChanged: false }))
  const [from, to] = changed
  let at = 0
  return runs.flatMap(([text, tone]) => {
    const cuts = [from - at, to - at].map(cut => Math.min(Math.max(cut, 0), text.length))
    const [first = 0, last = 0] = cuts
    at += text.length
    return [
      { text: text.slice(0, first), tone, isChanged: false },
      { text: text.slice(first, last), tone, isChanged: true },
      { text: text.slice(last), tone, isChanged: false },
    ].filter(piece => piece.text !== '')
  })
}
