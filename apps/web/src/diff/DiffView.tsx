import { memo, type ReactNode, useState } from 'react'
import { Button } from '../ui/controls/Button.tsx'
import { ScrollRegion } from '../ui/virtual/ScrollRegion.tsx'
import { type DiffRow, diffRows } from './diff-rows.ts'
import type { FileDiff } from './file-diff.ts'
import './diff.css'

/** A diff of four thousand lines is there at once, but not painted at once. */
const FIRST_ROWS = 300
const MORE_ROWS = 1500

export interface DiffViewProps {
  diff: FileDiff
  /** Called with the row that was clicked; makes line numbers buttons. */
  onLine?: (row: DiffRow) => void
  /** What stands under a row, as a comment. */
  below?: (row: DiffRow) => ReactNode
}

export const DiffView = memo(function DiffView({ diff, onLine, below }: DiffViewProps) {
  const [limit, setLimit] = useState(FIRST_ROWS)
  const rows = diffRows(diff)
  return (
    <div className="diff">
      <ScrollRegion role="group" className="diff__scroll" label={`Changes in ${diff.path}`}>
        <div className="diff__lines">
          {rows.slice(0, limit).map((row, index) => (
            <DiffLine
              key={index}
              row={diff.unplaced ? unplaced(row) : row}
              onLine={onLine}
              below={below?.(row)}
            />
          ))}
        </div>
      </ScrollRegion>
      {rows.length > limit ? (
        <Button className="diff__more" look="quiet" size="small" onClick={() => setLimit(limit + MORE_ROWS)}>
          {`Show ${Math.min(MORE_ROWS, rows.length - limit)} more of ${rows.length} lines`}
        </Button>
      ) : null}
    </div>
  )
})

function unplaced(row: DiffRow): DiffRow {
  return { ...row, oldLine: null, newLine: null }
}

function DiffLine(props: { row: DiffRow; onLine: DiffViewProps['onLine']; below: ReactNode }) {
  const { row, onLine, below } = props
  if (row.mark === '@') return <div className="diff__gap">⋯</div>
  const number = row.newLine ?? row.oldLine
  return (
    <>
      <div
        className={`diff__line${row.mark === '+' ? ' diff__line--add' : row.mark === '-' ? ' diff__line--del' : ''}`}
      >
        {onLine ? (
          <button
            type="button"
            className="diff__number"
            aria-label={`Comment on line ${number}`}
            onClick={() => onLine(row)}
          >
            {number}
          </button>
        ) : (
          <span className="diff__number">{number}</span>
        )}
        <span className="diff__mark">{row.mark}</span>
        <span className="diff__text">{row.text}</span>
      </div>
      {below}
    </>
  )
}
