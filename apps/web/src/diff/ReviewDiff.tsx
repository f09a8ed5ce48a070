import { memo, type ReactNode, useMemo } from 'react'
import { Button } from '../ui/controls/Button.tsx'
import { Icon } from '../ui/marks/Icon.tsx'
import { Kbd } from '../ui/marks/Kbd.tsx'
import { NearBlock } from '../ui/virtual/NearBlock.tsx'
import { ScrollRegion } from '../ui/virtual/ScrollRegion.tsx'
import { type Colours, DiffLine, LineNumber, LineText, useColours } from './DiffView.tsx'
import type { DiffRow } from './diff-rows.ts'
import type { FileDiff } from './file-diff.ts'
import type { ReviewRow } from './review-rows.ts'
import './diff.css'

export interface ReviewDiffProps {
  diff: FileDiff
  rows: readonly ReviewRow[]
  /** The hunk that keys are for; its part is always drawn. */
  current: number | null
  /** It is at the top of the page: its first parts are drawn at once. */
  isEager: boolean
  onLine(row: DiffRow): void
  /** Content under a row, as a comment. */
  below(row: DiffRow): ReactNode
  /** Undefined where nothing can be taken back. */
  onDiscard: ((hunk: number) => void) | undefined
  /** Undefined where there are no more lines. */
  onWiden: ((hunk: number) => void) | undefined
  onCurrent(hunk: number): void
}

/** Drawn and coloured together. */
const PART_ROWS = 120
/** More than a screen. All parts of a long file at once would stop the page for seconds. */
const EAGER_PARTS = 4
const ROW_PX = 24

/** A file in review: its hunks, each with what can be done with it. Only what is near is drawn. */
export function ReviewDiff(props: ReviewDiffProps) {
  const { diff, rows, current, isEager } = props
  const parts = useMemo(
    () =>
      Array.from({ length: Math.ceil(rows.length / PART_ROWS) }, (_, i) =>
        rows.slice(i * PART_ROWS, (i + 1) * PART_ROWS),
      ),
    [rows],
  )
  return (
    <div className="diff">
      <ScrollRegion role="group" className="diff__scroll" label={`Changes in ${diff.path}`}>
        <div className="diff__lines">
          {parts.map((part, index) => {
            const hasCurrent = part.some(row => row.kind === 'hunk' && row.index === current)
            return (
              <NearBlock
                key={index}
                always={(isEager && index < EAGER_PARTS) || hasCurrent}
                height={part.length * ROW_PX}
              >
                {() => <Part {...props} part={part} />}
              </NearBlock>
            )
          })}
        </div>
      </ScrollRegion>
    </div>
  )
}

const Part = memo(function Part(props: ReviewDiffProps & { part: readonly ReviewRow[] }) {
  const { diff, part, current, onLine, below, onDiscard, onWiden, onCurrent } = props
  const lines = useMemo(() => part.flatMap(linesIn), [part])
  const colours = useColours(diff.path, lines)
  return part.map((row, index) => {
    switch (row.kind) {
      case 'hunk':
        return (
          <HunkHead
            key={`hunk ${row.index}`}
            diff={diff}
            row={row}
            onDiscard={onDiscard}
            onWiden={onWiden}
            onCurrent={onCurrent}
            isCurrent={row.index === current}
          />
        )
      case 'line':
        return (
          <DiffLine
            key={index}
            row={row.row}
            runs={colours?.get(row.row)}
            onLine={onLine}
            below={below(row.row)}
          />
        )
      case 'split':
        return <SplitLine key={index} {...row.row} colours={colours} onLine={onLine} below={below} />
      case 'tail':
        return onWiden ? (
          <div key="tail" className="hunk">
            <Button look="quiet" size="small" onClick={() => onWiden(diff.hunks.length)}>
              <Icon name="down" size={13} /> More lines
            </Button>
          </div>
        ) : null
      default:
        return null
    }
  })
})

/** Lines highlighted as one text; each hunk begins a new one. */
function linesIn(row: ReviewRow): DiffRow[] {
  if (row.kind === 'line') return [row.row]
  if (row.kind !== 'split') return [{ mark: '@', oldLine: null, newLine: null, text: '' }]
  const { left, right } = row.row
  return [left, right === left ? null : right].filter(side => side !== null)
}

interface HunkHeadProps extends Pick<ReviewDiffProps, 'diff' | 'onDiscard' | 'onWiden' | 'onCurrent'> {
  row: Extract<ReviewRow, { kind: 'hunk' }>
  isCurrent: boolean
}

function HunkHead({ diff, row, isCurrent, onDiscard, onWiden, onCurrent }: HunkHeadProps) {
  const { index, hidden, isBlank } = row
  const hunk = diff.hunks[index]
  if (!hunk) return null
  const lines = hunk.lines.filter(line => !line.startsWith('-')).length
  const { newStart: first } = hunk
  const place = ['before line', 'line'][lines] ?? 'lines'
  const range = lines > 1 ? `${first}–${first + lines - 1}` : first
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is a part of a form
    <div
      className={isCurrent ? 'hunk hunk--current' : 'hunk'}
      role="group"
      aria-label={`Change ${index + 1} of ${diff.hunks.length}, ${place} ${range}`}
      aria-current={isCurrent || undefined}
      data-hunk={index}
      tabIndex={-1}
      onFocus={() => onCurrent(index)}
    >
      {hidden > 0 && onWiden ? (
        <Button look="quiet" size="small" onClick={() => onWiden(index)}>
          <Icon name="up" size={13} /> {`${hidden} ${hidden === 1 ? 'line' : 'lines'}`}
        </Button>
      ) : null}
      <span className="hunk__place number">{diff.unplaced ? '' : `${place} ${range}`}</span>
      {isBlank ? <span>Only white space differs</span> : null}
      <span className="spacer" />
      {onDiscard ? (
        <Button look="quiet" size="small" onClick={() => onDiscard(index)}>
          Discard {isCurrent ? <Kbd>X</Kbd> : null}
        </Button>
      ) : null}
    </div>
  )
}

interface SplitLineProps extends Pick<ReviewDiffProps, 'onLine' | 'below'> {
  left: DiffRow | null
  right: DiffRow | null
  colours: Colours | null
}

function SplitLine({ left, right, colours, onLine, below }: SplitLineProps) {
  const [gone, came] = [left && below(left), right && right !== left && below(right)]
  return (
    <>
      <div className="split">
        {/* A line that is on both sides is commented on where it is now. */}
        <SplitSide
          row={left}
          number={left?.oldLine ?? null}
          onLine={left === right ? undefined : onLine}
          colours={colours}
        />
        <SplitSide row={right} number={right?.newLine ?? null} colours={colours} onLine={onLine} />
      </div>
      {gone}
      {came}
    </>
  )
}

function SplitSide(props: {
  row: DiffRow | null
  number: number | null
  colours: Colours | null
  onLine: ((row: DiffRow) => void) | undefined
}) {
  const { row, number, colours, onLine } = props
  if (!row) return <div className="split__none" />
  const tone = row.mark === '+' ? ' diff__line--add' : row.mark === '-' ? ' diff__line--del' : ''
  return (
    <div className={`diff__line${tone}`}>
      <LineNumber row={row} number={number} onLine={onLine} />
      <LineText row={row} runs={colours?.get(row)} />
    </div>
  )
}
