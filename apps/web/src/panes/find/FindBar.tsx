import { type RefObject, useDeferredValue, useEffect, useMemo, useRef } from 'react'
import { useProjectRoot, useSession, useWholeSession } from '../../state/session/use-session.ts'
import { IconButton } from '../../ui/controls/IconButton.tsx'
import { leave } from '../../ui/keys/leave.ts'
import type { VirtualListHandle } from '../../ui/virtual/VirtualList.tsx'
import type { ChatRow } from '../chat/rows.logic.ts'
import {
  type FoundIn,
  firstFrom,
  indexOfFound,
  occurrenceAt,
  patternOf,
  Search,
  total,
} from './find.logic.ts'
import { FindField, type FindFieldProps, type Found } from './found.tsx'
import { bringIntoView, clearMarks, paintMarks } from './marks.ts'

const NOTHING: readonly FoundIn[] = []

interface FindBarProps extends FindFieldProps {
  rows: readonly ChatRow[]
  list: RefObject<VirtualListHandle | null>
  /** The element that the rows are in. */
  area: RefObject<HTMLElement | null>
  target: Found | null
  onTarget(target: Found | null): void
  onClose(): void
}

/** Finds a text in all of the conversation: what is folded is opened, and what is not loaded yet is loaded. */
export default function FindBar(props: FindBarProps) {
  const { field, text, onText, rows, list, area, target, onTarget, onClose } = props
  const wanted = useDeferredValue(text.trim())
  const cwd = useProjectRoot()
  const whole = useSession(snapshot => snapshot.whole)
  const live = useSession(({ state }) => state.live)
  const output = useSession(({ extras }) => extras.output)
  useWholeSession(wanted !== '')
  const search = useMemo(() => (wanted === '' ? null : new Search(wanted, cwd)), [wanted, cwd])
  const found = useMemo(() => search?.in(rows, { live, output }) ?? NOTHING, [search, rows, live, output])
  const count = total(found)
  const index = target && count > 0 ? indexOfFound(found, target) : -1
  const goTo = (to: number) => onTarget(occurrenceAt(found, to))
  const step = (by: 1 | -1) => goTo(index < 0 ? 0 : index + by)

  // A new text begins near what is in view; a text that is found only in what comes later begins there, too.
  const begun = useRef<string | null>(null)
  useEffect(() => {
    if (begun.current === wanted) return
    if (count === 0) {
      onTarget(null)
      return
    }
    begun.current = wanted
    goTo(firstFrom(found, list.current?.firstVisible() ?? 0))
  }, [wanted, count])

  // Earlier rows that came meanwhile moved those that were found.
  const current = index < 0 ? null : occurrenceAt(found, index)
  useMarks({ area, list, pattern: wanted, current })

  return (
    <search
      className="find"
      aria-label="Find in conversation"
      onKeyDown={event => {
        if (event.key === 'Escape') leave(event, onClose)
      }}
    >
      <FindField field={field} text={text} onText={onText} onStep={step} />
      <span className="find__count number" role="status">
        {wanted === ''
          ? ''
          : count === 0
            ? whole
              ? 'No match'
              : 'No match yet'
            : `${index + 1} of ${count}`}
      </span>
      <IconButton icon="up" label="Previous match" disabled={count === 0} onClick={() => step(-1)} />
      <IconButton icon="down" label="Next match" disabled={count === 0} onClick={() => step(1)} />
      <IconButton icon="close" label="Close the search" onClick={onClose} />
      {wanted === '' ? null : (
        <p className="find__scope">
          {whole
            ? 'All messages, tool calls and their output'
            : 'The latest part; the earlier one is being loaded…'}
        </p>
      )}
    </search>
  )
}

/** Marks what is drawn whenever it changes, and brings the current one into view when it is another. */
function useMarks(about: {
  area: RefObject<HTMLElement | null>
  list: RefObject<VirtualListHandle | null>
  pattern: string
  current: Found | null
}): void {
  const { area, list, pattern, current } = about
  const place = current ? `${current.seq} ${current.nth}` : ''
  const latest = useRef(current)
  latest.current = current
  useEffect(() => {
    const element = area.current
    if (!element || pattern === '') return
    let frame = 0
    const paint = () => paintMarks(element, patternOf(pattern), latest.current)
    const later = () => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(paint)
    }
    paint()
    const observer = new MutationObserver(later)
    observer.observe(element, { childList: true, subtree: true, characterData: true })
    return () => {
      observer.disconnect()
      cancelAnimationFrame(frame)
      clearMarks()
    }
  }, [area, pattern, place])
  useEffect(() => {
    const element = area.current
    if (!element || place === '') return
    return bringIntoView(element, {
      range: () => paintMarks(element, patternOf(pattern), latest.current),
      toRow: () => latest.current && list.current?.toIndex(latest.current.row),
    })
  }, [area, list, pattern, place])
}
